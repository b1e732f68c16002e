// What was measured of settings, and the models fitted to it: the tables `measurements` and
// `gain_models`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// One file of one replay.
struct Trial {
  std::string settings;                 // canonical; empty: the default
  std::optional<double> seconds;        // nothing: it failed, or the settings did not take effect
  std::vector<double> default_seconds;  // of the same replay
  std::string effect;                   // "applied", or why there is no time
  std::string session;                  // of a training or survey
  std::uint64_t batch = 0, place = 0;   // replay of the session, file of the replay
  double measured_at = 0;
};

// Trials of one pattern on one platform.
struct Surface {
  Pattern pattern;
  Platform platform;
  std::string question;  // FeatureQuestion as JSON
  std::vector<Trial> trials;
};

struct StoredGainModel {
  Platform platform;
  std::string payload;  // bytes of GainModel::parse()
  std::string candidates, archive, score;
  std::uint64_t patterns = 0, rows = 0;
  double made_at = 0;
};

Json to_json(const Surface& surface);
Surface read_surface(const Node& node);
Json to_json(const StoredGainModel& model);  // payload in base64
StoredGainModel read_gain_model(const Node& node);

namespace rows {
// How many of its trials are new.
std::size_t surface(sqlite::Connection& connection, const Surface& surface);
std::vector<Surface> surfaces(sqlite::Connection& connection);
// False where it is there already.
bool gain_model(sqlite::Connection& connection, const StoredGainModel& model);
std::vector<StoredGainModel> gain_models(sqlite::Connection& connection);
// The newest of that very platform.
std::optional<StoredGainModel> newest_gain_model(sqlite::Connection& connection,
                                                 const Platform& platform);
}  // namespace rows

}  // namespace iotune::patterndb
