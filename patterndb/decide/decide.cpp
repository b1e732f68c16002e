#include "patterndb/decide/decide.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "core/words/decision_words.h"
#include "patterndb/decide/exploration.h"
#include "patterndb/decide/gather_offer.h"
#include "patterndb/decide/site_copies.h"
#include "patterndb/exchange/config_xml.h"
#include "patterndb/gains/adopted.h"
#include "patterndb/gains/apply_predicted.h"
#include "patterndb/matching/neighbours.h"
#include "patterndb/settings/gate.h"
#include "patterndb/settings/parameters.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

std::string counted(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// Of source "config" where a leaf is for this file, be it one that is left out.
Decision from_config(const Question& question, const std::string& path) {
  const Config config = value_or_fault(read_config(path, question.file));
  Decision decision;
  // Programs open logs and decks by POSIX, too, and what is said of every file is meant for data.
  if (file_layer_named(question.layer) == FileLayer::kPosix) {
    decision.settings = config.named_settings;
  } else {
    decision.settings = config.settings;
    decision.of_variables = config.of_variables;
  }
  decision.forced = config.forced;
  const std::size_t count = decision.settings.values().size() + decision.of_variables.size();
  if (count > IOTUNE_DECISION_MAX_SETTINGS) {
    throw Fault{path + ": " + std::to_string(count) + " settings for " + question.file +
                ", at most " + std::to_string(IOTUNE_DECISION_MAX_SETTINGS) + " are applied"};
  }
  const bool empty = count == 0;
  if (!empty || !config.notes.empty()) decision.source = IOTUNE_SOURCE_CONFIG;
  decision.message = empty ? "no setting of " + path + " is for this file" : "settings of " + path;
  for (const std::string& note : config.notes) decision.message += "; " + note;
  return decision;
}

PatternDb open_to_read(const std::string& path) {
  return value_or_fault(PatternDb::open(path, {Access::kReadOnly, kMillisecondsInOpen}));
}

std::string evidence(const TuningRow& row) {
  std::string text;
  // What was measured, as training says it: "for vpic-io vpic#.h5".
  if (row.source == "train" && row.evidence.starts_with("for ")) text += " " + row.evidence;
  if (row.gain) text += ", gain " + number(*row.gain);
  if (row.low && row.high) text += " [" + number(*row.low) + ", " + number(*row.high) + "]";
  if (row.rounds > 0) text += " in " + std::to_string(row.rounds) + " rounds";
  return text;
}

// What a database says never changes how others can read the file: that only a user asks for.
Settings without_layout(const Settings& settings, std::string& message) {
  Settings kept;
  for (const auto& [name, value] : settings.values()) {
    const Parameter* parameter = find_parameter(name.c_str());
    if (parameter != nullptr && parameter->disk == DiskEffect::kLayout) {
      message += "; " + name + " left out, it changes the layout and must be asked for";
    } else {
      kept.add(name, value);
    }
  }
  return kept;
}

// Patterns are equal by the bytes of a dataset, however many there are: what is reserved for the
// file that was trained with may be several times this one's, and would stay reserved. Room for
// metadata, and for holes that alignment leaves, is no reason.
Settings without_excess(const Settings& settings, const std::vector<KnownFile>& known,
                        std::string& message) {
  constexpr double kMore = 1.1, kMetadataBytes = 65536, kMetadataBytesOfDataset = 4096;
  Settings kept;
  for (const auto& [name, value] : settings.values()) {
    const double asked = name == "fallocate" ? strtod(value.c_str(), nullptr) : 0;
    const double bytes = known.empty() ? 0 : known.front().bytes;  // as it was written last
    const double most =
        bytes * kMore + kMetadataBytes +
        kMetadataBytesOfDataset * static_cast<double>(known.empty() ? 0 : known.front().datasets);
    if (asked == 0 || (bytes > 0 && asked <= most)) {
      kept.add(name, value);
      continue;
    }
    message += "; " + name + "=" + value + " left out, it was measured with another file: " +
               (bytes > 0 ? "datasets of this one had " + number(bytes / (1 << 20)) + " MiB"
                          : "how large this one becomes is not known");
  }
  return kept;
}

void apply(const TuningRow& row, Decision& decision) {
  decision.source = row.state == State::kUntrained ? IOTUNE_SOURCE_UNTRAINED : IOTUNE_SOURCE_EXACT;
  decision.state = row.state;
  decision.row = row.id;
  if (row.state != State::kUntrained && !decision.distance) decision.distance = 0;
  switch (row.state) {
    case State::kUntrained:
      decision.message = "pattern known, not trained on this platform: iotune train";
      return;
    case State::kDefaultIsBest:
      decision.message = "measured" + evidence(row) + ": the default is best";
      return;
    case State::kReverted:
      decision.message = "taken back, it measured worse than the default";
      if (!row.evidence.empty()) decision.message += ": " + row.evidence;
      return;
    case State::kRefused:
      decision.message = "refused before" + evidence(row);
      if (!row.evidence.empty()) decision.message += ": " + row.evidence;
      return;
    case State::kTuned:
      break;
  }
  Result<Settings> settings = Settings::parse(row.settings);
  if (!settings) {
    decision.state = State::kRefused;
    decision.message = "row " + std::to_string(row.id) +
                       " holds settings that this iotune does not know: " + settings.error().text();
    return;
  }
  const bool is_copy =
      (row.source == kCopySource || row.source == kPredictedSource) && !row.evidence.empty();
  decision.message = (is_copy                                       ? row.evidence
                      : row.source == "train" || row.source.empty() ? "trained"
                                                                    : "stored: " + row.source) +
                     evidence(row);
  if (decision.distance == 0 && row.descriptor != decision.pattern) {
    decision.message += "; equal in bytes to " + row.descriptor;
  }
  decision.settings = without_layout(*settings, decision.message);
}

// The share of runs that are left at the default beside this answer. The first run gets what was
// measured: a user who has just trained would look for it there.
double share_at_default(const TuningRow& row) {
  return row.was_given || row.default_share >= 1 ? row.default_share : 0;
}

// Some runs stay at the default, else nobody would notice that settings have become bad.
void explore(double default_share, double drawn, Decision& decision) {
  if (decision.settings.empty() || !(drawn < default_share)) return;
  decision.source = IOTUNE_SOURCE_EXPLORE;
  decision.message = "left at the default in this run, as 1 in " + number(1 / default_share) +
                     " is, to compare with " + decision.settings.text() + "; " + decision.message;
  decision.settings = {};
}

// What a database has for a file.
struct Found {
  Decision decision;
  Workload workload;
  Platform platform;
  std::string byte_key;             // of the pattern of the file's dominant dataset
  std::optional<TuningRow> answer;  // its own, or the similar pattern's that is trusted
  std::string answer_key;           // of the answer's pattern
  double default_share = 0;         // of runs that get it, to be left at the default
};

// The pattern has no answer of its own: that of one that resembles it, where it can be trusted.
void apply_similar(PatternDb& db, const std::string& byte_key, Found& found) {
  Result<Neighbourhood> around = db.neighbourhood(byte_key, found.platform);
  if (!around) return;
  Decision& decision = found.decision;
  const Judgement judgement = judge(*around);
  if (judgement.distance >= 0) decision.distance = judgement.distance;
  if (judgement.trusted == nullptr) {
    decision.message += "; " + judgement.why;
    return;
  }
  apply(judgement.trusted->answer, decision);
  decision.source = IOTUNE_SOURCE_SIMILAR;
  decision.message = judgement.why + ": " + decision.message;
  found.answer = judgement.trusted->answer;
  found.answer_key = judgement.trusted->byte_key;
  found.default_share = judgement.trusted->answer.default_share;
}

Platform platform_of(const Question& question) {
  Platform platform{question.filesystem.empty() ? filesystem_of(question.file)
                                                : canonical_filesystem(question.filesystem),
                    question.mpi, question.hdf5, host_class()};
  return platform_of_layer(std::move(platform), file_layer_named(question.layer));
}

// What one database knows. `known`: the pattern of the file's dominant dataset, where another
// database knows that.
Found from_one(const Question& question, const std::string& path,
               std::optional<KnownPattern>& known) {
  PatternDb db = open_to_read(path);
  const PatternDb::OwnWorkload own = value_or_fault(db.workload_of(
      {base_name(question.program), base_name(question.file), question.ranks, question.nodes}));
  const Workload& workload = own.workload;
  const std::optional<KnownPattern> stored =
      value_or_fault(db.pattern_of(workload, question.creating));
  Found found;
  Decision& decision = found.decision;
  found.workload = workload;
  decision.workload_file = workload.file;
  decision.by_name = own.distinguished;
  if (!known) known = stored;
  if (!known) {
    decision.message = "workload " + workload.program + " " + workload.file + " on " +
                       counted(workload.ranks, "rank") + " and " + counted(workload.nodes, "node") +
                       " was never observed";
    return found;
  }
  decision.pattern = known->descriptor;
  found.byte_key = found.answer_key = known->byte_key;
  const Platform platform = found.platform = platform_of(question);
  const std::optional<TuningRow> row = value_or_fault(db.newest_tuning(known->byte_key, platform));
  found.answer = row;
  if (row && !known->settled && row->made_at <= known->last_seen) {
    decision.source = IOTUNE_SOURCE_DRIFT;
    decision.state = row->state;
    decision.row = row->id;
    decision.distance = 0;
    decision.message =
        "the workload showed another pattern in its run before this one: its answer "
        "is trusted when it shows this one again";
    return found;
  }
  apply(row ? *row : TuningRow(), decision);
  if (row) found.default_share = share_at_default(*row);
  if (decision.source == IOTUNE_SOURCE_UNTRAINED && !known->settled) {
    decision.message +=
        "; the workload showed another pattern in its run before this one: what resembles it is "
        "trusted when it shows this one again";
  } else if (decision.source == IOTUNE_SOURCE_UNTRAINED) {
    apply_similar(db, found.byte_key, found);
  }
  if (question.creating && !decision.settings.empty()) {
    decision.known = value_or_fault(db.files_of(workload));
    // A similar pattern's is refused as a whole, by who applies it.
    if (decision.source == IOTUNE_SOURCE_EXACT) {
      decision.settings = without_excess(decision.settings, decision.known, decision.message);
    }
  }
  return found;
}

// Settings whose row is the user's own are left out of some runs, to be compared.
Decision drawn(Found found, const Question& question, const Places& places) {
  if (!question.frozen && found.decision.row >= 0 && !found.byte_key.empty()) {
    explore(found.default_share,
            places.draw ? *places.draw : draw(seed_of_this_run(), found.workload, found.byte_key),
            found.decision);
  }
  return std::move(found.decision);
}

// What a lower database knows. Its rows say nothing to the user's own.
Found from_lower(const Question& question, const std::string& path,
                 std::optional<KnownPattern>& known) {
  Found found = from_one(question, path, known);
  found.decision.row = -1;
  found.decision.message = path + ": " + found.decision.message;
  return found;
}

bool is_there(const std::string& path) {
  return !path.empty() && access(path.c_str(), F_OK) == 0;
}

// The lower databases' answer: the first one's for the pattern itself, else the first one's for
// what resembles it.
std::optional<Found> from_lower_ones(const Question& question, const Places& places,
                                     std::optional<KnownPattern>& known) {
  std::optional<Found> best;
  const auto rank = [](const Found& found) {
    return found.decision.source == IOTUNE_SOURCE_EXACT     ? 2
           : found.decision.source == IOTUNE_SOURCE_SIMILAR ? 1
                                                            : 0;
  };
  for (const std::string& path : places.lower) {
    if (!is_there(path) || path == places.database) continue;
    Found found = from_lower(question, path, known);
    if (!best || rank(found) > rank(*best)) best = std::move(found);
    if (rank(*best) == 2) break;
  }
  return best;
}

// A similar pattern's answer of a lower database that is copied here is tested by this user's runs:
// under the copy's row, and some of them at the default.
void take_for_copy(const Places& places, Found& lower) {
  if (lower.decision.source != IOTUNE_SOURCE_SIMILAR || !lower.answer) return;
  PatternDb db = open_to_read(places.database);
  const auto copy = value_or_fault(db.newest_tuning(lower.answer_key, lower.platform));
  if (!copy || copy->source != kCopySource || copy->settings != lower.answer->settings) return;
  lower.decision.row = copy->id;
  lower.default_share = copy->default_share;
}

// The user's own answer, then that of a lower database for the same pattern; then what resembles
// it, in the same order. What was copied from a lower database is the user's own for as long as
// that has nothing newer.
Decision measured_answer(const Question& question, const Places& places,
                         std::optional<KnownPattern>& known) {
  if (!is_there(places.database)) {
    std::optional<Found> lower = from_lower_ones(question, places, known);
    if (lower) return std::move(lower->decision);
  }
  Found own = from_one(question, places.database, known);
  const iotune_source source = own.decision.source;
  const bool open = source == IOTUNE_SOURCE_UNKNOWN || source == IOTUNE_SOURCE_UNTRAINED;
  const bool is_copy = source == IOTUNE_SOURCE_EXACT && own.answer && own.answer->copied_at;
  if (!open && source != IOTUNE_SOURCE_SIMILAR && !is_copy)
    return drawn(std::move(own), question, places);
  std::optional<Found> lower = from_lower_ones(question, places, known);
  if (!lower) return drawn(std::move(own), question, places);
  const iotune_source theirs = lower->decision.source;
  const bool holds =
      is_copy ? theirs == IOTUNE_SOURCE_EXACT && goes_before(*lower->answer, own.answer)
              : theirs == IOTUNE_SOURCE_EXACT || (open && theirs == IOTUNE_SOURCE_SIMILAR);
  if (!holds) return drawn(std::move(own), question, places);
  take_for_copy(places, *lower);
  lower->decision.workload_file = own.decision.workload_file;
  lower->decision.by_name = lower->decision.by_name || own.decision.by_name;
  return drawn(std::move(*lower), question, places);
}

Decision from_database(const Question& question, const Places& places) {
  std::optional<KnownPattern> known;
  Decision decision = measured_answer(question, places, known);
  if (question.gathers && known && known->settled) {
    apply_gather_offer(question, places, platform_of(question), known->byte_key, decision);
  }
  // Where a site froze its answers, only what was measured is applied.
  if (decision.source == IOTUNE_SOURCE_UNTRAINED && known && known->settled && !question.frozen) {
    apply_predicted(question, places, platform_of(question), known->byte_key, decision);
  }
  return decision;
}

// A configuration speaks for the files that it has leaves for, and where there is no other voice.
Decision from_config_or_database(const Question& question, const Places& places) {
  Decision said = from_config(question, places.config);
  if (said.source == IOTUNE_SOURCE_CONFIG || places.database == "none") {
    said.source = IOTUNE_SOURCE_CONFIG;
    return said;
  }
  if (!is_there(places.database) &&
      std::none_of(places.lower.begin(), places.lower.end(), is_there)) {
    said.message += ", and there is no database";
    return said;
  }
  Decision found = from_database(question, places);
  found.message += "; " + said.message;
  return found;
}

}  // namespace

Question question_from(const iotune_question& question) {
  auto text = [](const char* string) { return std::string(string == nullptr ? "" : string); };
  return {text(question.layer), text(question.program), text(question.file),
          text(question.mpi),   text(question.hdf5),    text(question.filesystem),
          question.ranks,       question.nodes,         question.creating != 0,
          question.frozen != 0, question.gathers != 0,  {},
          question.mpi_io};
}

Places places_from_environment(const std::string& site_database) {
  const char* config = secure_getenv("IOTUNE_CONFIG");
  Places places{default_db_path(), default_spool_dir(), config == nullptr ? "" : config};
  places.lower = lower_db_paths(site_database);
  if (!exploration_is_on()) places.draw = 1;
  return places;
}

Result<Decision> decide(const Question& question, const Places& places) noexcept {
  return guarded<Decision>([&] {
    Decision decision = places.config.empty() ? from_database(question, places)
                                              : from_config_or_database(question, places);
    pass_gate(question, places, decision);
    return decision;
  });
}

}  // namespace iotune::patterndb
