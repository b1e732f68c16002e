#include "analyzer/summary/file_notes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/words/decision_words.h"
#include "recorder/decision_digest.h"

namespace iotune::analyzer {
namespace {

using recorder::CallArguments;

void note_prefetch(PrefetchOutcome& prefetch, const CallArguments& arguments) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(arguments.find(name)->numbers[0]);
  };
  prefetch.predictor = arguments.find("predictor")->text;
  ++prefetch.streams;
  prefetch.reads += number("reads");
  prefetch.hits += number("hits");
  prefetch.late += number("late");
  prefetch.served += number("served");
  prefetch.requests += number("requested");
  prefetch.requested_bytes += number("requested_bytes");
  prefetch.unused_bytes += number("unused_bytes");
  prefetch.wait_seconds += static_cast<double>(number("wait_ns")) * 1e-9;
  prefetch.saved_seconds += static_cast<double>(number("saved_ns")) * 1e-9;
  prefetch.depth = std::max(prefetch.depth, number("depth"));
}

void note_gather(GatherOutcome& gather, const CallArguments& arguments) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(arguments.find(name)->numbers[0]);
  };
  const std::string reason(arguments.find("reason")->text);
  if (!reason.empty()) {
    gather.not_held[reason] += number("not_held");
    return;
  }
  ++gather.ranks;
  gather.held_calls += number("held");
  gather.held_bytes += number("held_bytes");
  gather.reads_served += number("served");
  gather.flushes = std::max(gather.flushes, number("flushes"));
  gather.exchange_calls = std::max(gather.exchange_calls, number("exchange_calls"));
  gather.exchange_bytes += number("exchange_bytes");
  gather.piece_writes += number("piece_writes");
  gather.piece_bytes += number("piece_bytes");
  gather.alone_writes += number("alone_writes");
  gather.alone_bytes += number("alone_bytes");
  gather.waiting_bytes += number("waiting_bytes");
}

void note_setting(std::vector<SettingOutcome>& settings, const CallArguments& arguments) {
  SettingOutcome outcome;
  outcome.parameter = arguments.find("parameter")->text;
  outcome.wanted = arguments.find("wanted")->text;
  outcome.got = arguments.find("got")->text;
  outcome.reason = arguments.find("reason")->text;
  const std::int64_t verdict = arguments.find("verdict")->numbers[0];
  if (verdict >= 0 && verdict < std::ssize(kVerdictNames)) {
    outcome.verdict = kVerdictNames[verdict];
  }
  const bool known =
      std::any_of(settings.begin(), settings.end(), [&](const SettingOutcome& other) {
        return other.parameter == outcome.parameter && other.wanted == outcome.wanted &&
               other.got == outcome.got && other.verdict == outcome.verdict &&
               other.reason == outcome.reason;
      });
  if (!known) settings.push_back(std::move(outcome));
}

FileOutcome& outcome_of(FileRecord& file) {
  if (!file.outcome) file.outcome = std::make_unique<FileOutcome>();
  return *file.outcome;
}

}  // namespace

void FileNotes::take(FileRecord& file, CallFacts::Note note, const CallArguments& arguments) {
  using Note = CallFacts::Note;
  if (note == Note::kFile) {
    const std::int64_t layer = arguments.find("layer")->numbers[0];
    if (layer >= 0 && layer < 4) file.layers[layer].opened = true;
  } else if (note == Note::kDecision) {
    note_decision(outcome_of(file), arguments);
  } else if (note == Note::kDecisionAgain) {
    const auto said = decisions_.find(arguments.find("digest")->numbers[0]);
    if (said == decisions_.end()) return;
    FileOutcome& outcome = outcome_of(file);
    if (!outcome.decision) outcome.decision = said->second;
  } else if (note == Note::kSetting) {
    note_setting(outcome_of(file).settings, arguments);
  } else if (note == Note::kPrefetch) {
    note_prefetch(outcome_of(file).prefetch, arguments);
  } else if (note == Note::kGather) {
    note_gather(outcome_of(file).gather, arguments);
  } else if (note == Note::kSampledOut) {
    file.sampled_out = true;
  }
}

void FileNotes::note_decision(FileOutcome& outcome, const CallArguments& arguments) {
  const auto number = [&](const char* name) { return arguments.find(name)->numbers[0]; };
  const auto text = [&](const char* name) { return arguments.find(name)->text; };
  const std::int64_t distance = number("distance_thousandths"), state = number("state");
  DecisionNote decision;
  decision.source = text("source");
  decision.pattern = text("pattern");
  decision.message = text("message");
  decision.row = number("row");
  decision.distance = static_cast<double>(distance) / 1000.0;
  if (state >= 0 && state < std::ssize(kStateNames)) decision.state = kStateNames[state];
  const std::int64_t digest = recorder::decision_digest(
      decision.row, distance, state, decision.source, decision.pattern, decision.message);
  if (!outcome.decision) outcome.decision = decision;
  decisions_.try_emplace(digest, std::move(decision));
}

}  // namespace iotune::analyzer
