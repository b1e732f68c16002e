#include "patterndb/decide/gather_offer.h"

#include <unistd.h>

#include <sstream>
#include <vector>

#include "core/words/decision_words.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

namespace {

struct Offer {
  double gain = 0, low = 0, high = 0;
  unsigned rounds = 0;
  std::string settings;
};

// Nothing for one of another version of iotune.
std::optional<Offer> parsed(const std::string& payload) {
  std::istringstream lines(payload);
  Offer offer;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "write") words >> offer.gain >> offer.low >> offer.high >> offer.rounds;
    if (name == "settings") words >> offer.settings;
    if (!words) return std::nullopt;
  }
  if (offer.rounds == 0 || offer.settings.empty()) return std::nullopt;
  return offer;
}

std::optional<Offer> found_offer(const Places& places, const Platform& platform,
                                 const std::string& byte_key) {
  std::vector<std::string> paths{places.database};
  paths.insert(paths.end(), places.lower.begin(), places.lower.end());
  for (const std::string& path : paths) {
    if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
    Result<PatternDb> db = PatternDb::open(path, {Access::kReadOnly, kMillisecondsInOpen});
    if (!db) continue;
    const Result<std::optional<std::string>> payload =
        db->newest_model("offer gather " + byte_key, platform);
    if (payload && *payload) return parsed(**payload);
  }
  return std::nullopt;
}

}  // namespace

void apply_gather_offer(const Question& question, const Places& places, const Platform& platform,
                        const std::string& byte_key, Decision& decision) {
  if (file_layer_named(question.layer) != FileLayer::kMpiIo || !question.creating) return;
  const std::optional<Offer> offer = found_offer(places, platform, byte_key);
  if (!offer) return;
  const std::string measured = number(offer->gain) + " [" + number(offer->low) + ", " +
                               number(offer->high) + "] in " + std::to_string(offer->rounds) +
                               " rounds";
  Result<Settings> settings = Settings::parse(offer->settings);
  if (offer->low <= 1 || !settings) {
    decision.message += "; gathering was measured: " + measured + ", not worth it";
    return;
  }
  decision.source = IOTUNE_SOURCE_EXACT;
  decision.state = State::kTuned;
  decision.row = -1;
  decision.distance = 0;
  decision.settings = *settings;
  decision.message =
      "small writes wait, which is allowed here: gain " + measured + "; else " + decision.message;
}

}  // namespace iotune::patterndb
