#include "patterndb/gains/apply_predicted.h"

#include <unistd.h>

#include <vector>

#include "patterndb/gains/predicted.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

std::optional<PatternDb> opened(const std::string& path) {
  if (path.empty() || access(path.c_str(), F_OK) != 0) return std::nullopt;
  Result<PatternDb> db = PatternDb::open(path, {Access::kReadOnly, kMillisecondsInOpen, {}});
  if (!db) return std::nullopt;
  return std::move(*db);
}

std::optional<StoredGainModel> model_of(const Places& places, const Platform& platform) {
  std::vector<std::string> paths{places.database};
  paths.insert(paths.end(), places.lower.begin(), places.lower.end());
  for (const std::string& path : paths) {
    std::optional<PatternDb> db = opened(path);
    if (!db) continue;
    Result<std::optional<StoredGainModel>> model = db->newest_gain_model(platform);
    if (model && *model) return std::move(**model);
  }
  return std::nullopt;
}

}  // namespace

void apply_predicted(const Question& question, const Places& places, const Platform& platform,
                     const std::string& byte_key, Decision& decision) {
  std::optional<PatternDb> own = opened(places.database);
  const std::optional<StoredGainModel> model = model_of(places, platform);
  if (!own || !model) return;
  Result<std::optional<PatternOfFile>> file = own->pattern_of_file(
      {base_name(question.program), decision.workload_file, question.ranks, question.nodes},
      byte_key);
  if (!file || !*file) return;
  Predicted found = predicted(*model, **file, platform, question.nodes, question.creating);
  decision.hopeful = std::move(found.hopeful);
  const std::optional<PredictedAnswer>& answer = found.answer;
  if (!answer) {
    decision.message += "; " + found.why;
    return;
  }
  decision.source = IOTUNE_SOURCE_PREDICTED;
  decision.settings = answer->settings;
  decision.message = "predicted from " + std::to_string(answer->patterns) +
                     " measured patterns, gain " + number(answer->gain) + " [" +
                     number(answer->low) + ", " + number(answer->high) + "]; " + decision.message;
}

}  // namespace iotune::patterndb
