#include "patterndb/gains/adopted.h"

#include <optional>

#include "patterndb/decide/site_copies.h"
#include "patterndb/store/rows.h"

namespace iotune::patterndb {

namespace {

// Of runs that could have the settings: nobody has measured them, so the default is compared soon.
constexpr double kShareAtDefault = 0.25;

}  // namespace

std::int64_t adopted(sqlite::Connection& own, const ObservedFile& file, const Pattern& pattern) {
  if (file.decision_source != kPredictedSource || file.settings.empty()) return -1;
  const std::optional<TuningRow> newest = newest_tuning(own, byte_key(pattern), file.platform);
  if (newest && newest->state != State::kUntrained) {
    const bool same = newest->source == kPredictedSource && newest->state == State::kTuned &&
                      newest->settings == file.settings.text();
    return same ? newest->id : -1;
  }
  Tuning answer;
  answer.state = State::kTuned;
  answer.default_share = kShareAtDefault;
  answer.source = kPredictedSource;
  answer.made_at = file.observed_at;
  answer.evidence = "predicted by a model, not measured yet";
  return rows::tuning(own,
                      {rows::pattern(own, pattern), rows::platform(own, file.platform),
                       rows::settings(own, file.settings.text())},
                      answer)
      .id;
}

}  // namespace iotune::patterndb
