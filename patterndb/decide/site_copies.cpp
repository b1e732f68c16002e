#include "patterndb/decide/site_copies.h"

#include <unistd.h>

#include <algorithm>

#include "patterndb/matching/neighbours.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

// A run's end waits for it.
constexpr int kReadMilliseconds = 20;

// Whether all that took effect is of the answer: it is the one that the run got. (The site's
// database may be another one by now.)
bool explains(const Settings& answer, const Settings& effective) {
  return std::all_of(effective.values().begin(), effective.values().end(), [&](const auto& one) {
    const auto found = answer.values().find(one.first);
    return found != answer.values().end() && found->second == one.second;
  });
}

}  // namespace

bool goes_before(const TuningRow& lower, const std::optional<TuningRow>& own) {
  if (lower.state == State::kUntrained) return false;
  if (!own || own->state == State::kUntrained) return true;
  if (!own->copied_at || lower.made_at <= *own->copied_at) return false;
  const bool same_settings = lower.settings == own->settings;
  return own->state == State::kTuned ? !same_settings || lower.state != State::kTuned
                                     : !same_settings;
}

LowerAnswers::LowerAnswers(const std::vector<std::string>& paths, const std::string& own) {
  for (const std::string& path : paths) {
    if (path.empty() || path == own || access(path.c_str(), F_OK) != 0) continue;
    // One that cannot be read just now gave no answer, or leaves a run without a copy.
    Result<PatternDb> db = PatternDb::open(path, {Access::kReadOnly, kReadMilliseconds, {}});
    if (db) databases_.push_back(std::move(*db));
  }
}

std::optional<LowerAnswers::Given> LowerAnswers::given(const ObservedFile& file,
                                                       const Pattern& pattern) {
  const std::string key = byte_key(pattern);
  for (PatternDb& db : databases_) {
    if (file.decision_source == "exact") {
      Result<std::optional<TuningRow>> row = db.newest_tuning(key, file.platform);
      if (!row || !*row || (*row)->state == State::kUntrained) continue;
      return Given{pattern, **row, db.path()};
    }
    Result<Neighbourhood> around = db.neighbourhood(key, file.platform);
    if (!around) continue;
    const Judgement judgement = judge(*around);
    if (judgement.trusted == nullptr) continue;
    Result<std::optional<TuningRow>> row =
        db.newest_tuning(judgement.trusted->byte_key, file.platform);
    if (row && *row) return Given{judgement.trusted->pattern, **row, db.path()};
  }
  return std::nullopt;
}

std::int64_t LowerAnswers::copy_of(sqlite::Connection& own, const ObservedFile& file,
                                   const Pattern& pattern) {
  const bool asked = file.decision_source == "exact" || file.decision_source == "similar";
  if (!asked || file.decision_row >= 0 || databases_.empty()) return -1;
  const std::optional<Given> found = given(file, pattern);
  if (!found || found->answer.state != State::kTuned) return -1;
  Result<Settings> settings = Settings::parse(found->answer.settings);
  if (!settings || settings->empty() || !explains(*settings, file.settings)) return -1;

  const std::optional<TuningRow> newest =
      newest_tuning(own, byte_key(found->pattern), file.platform);
  if (newest && newest->source == kCopySource && newest->settings == found->answer.settings) {
    return newest->id;
  }
  if (!goes_before(found->answer, newest)) return -1;
  Tuning copy;
  copy.state = State::kTuned;
  copy.gain = found->answer.gain;
  copy.low = found->answer.low;
  copy.high = found->answer.high;
  copy.rounds = found->answer.rounds;
  copy.default_share = found->answer.default_share;
  copy.source = kCopySource;
  copy.made_at = std::max(found->answer.made_at, newest ? newest->made_at : 0);
  copy.replaces = newest ? newest->id : 0;
  copy.evidence = "copied from " + found->path;
  if (!found->answer.evidence.empty()) copy.evidence += ": " + found->answer.evidence;
  return rows::tuning(own,
                      {rows::pattern(own, found->pattern), rows::platform(own, file.platform),
                       rows::settings(own, settings->text())},
                      copy)
      .id;
}

}  // namespace iotune::patterndb
