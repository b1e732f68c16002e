// Rows of the database: found or added by their unique keys, inside the caller's transaction.
#pragma once

#include <cstdint>
#include <string>

#include "patterndb/store/records.h"
#include "patterndb/store/retention.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb::rows {

std::int64_t platform(sqlite::Connection& connection, const Platform& platform);
std::int64_t workload(sqlite::Connection& connection, const Workload& workload);
std::int64_t pattern(sqlite::Connection& connection, const Pattern& pattern);
std::int64_t settings(sqlite::Connection& connection, const std::string& canonical_text);

struct StoredUse {
  std::int64_t workload, pattern;
  std::string dataset;
  std::uint64_t datasets, repeats;
  bool is_dominant;
  double last_seen;
  bool settled = true;
};
// The newest sighting holds.
void use(sqlite::Connection& connection, const StoredUse& use);

struct StoredDrift {
  std::int64_t workload, before, after;
  std::string run;
  double observed_at;
  std::uint64_t times = 1;
};
// Of a workload the newest are kept, and count for the others.
inline constexpr std::size_t kKeptDrifts = 64;
void drift(sqlite::Connection& connection, const StoredDrift& drift);

// Returns the row and whether it is new.
struct Added {
  std::int64_t id;
  bool fresh;
};
struct StoredTuning {
  std::int64_t pattern, platform, settings;
};
std::optional<std::int64_t> find_tuning(sqlite::Connection& connection, const StoredTuning& keys,
                                        const Tuning& evidence);
Added tuning(sqlite::Connection& connection, const StoredTuning& keys, const Tuning& evidence);

// False where (name, item) was counted before, or rows as old as this one were dropped.
struct StoredObservation {
  std::string spool_file;
  std::int64_t item;
  std::string run, trace, program, path;
  std::int64_t workload, platform;
  std::int64_t pattern;  // 0: none
  std::int64_t settings;
  std::string decision_source;
  std::int64_t decision_row;
  std::uint64_t bytes_written, bytes_read;
  double seconds, elapsed_seconds, observed_at;
  std::uint64_t files = 1;
};
bool observation(sqlite::Connection& connection, const StoredObservation& row);
// Adds a further file of the same run to the row that was added last of its kind.
void add_to_observation(sqlite::Connection& connection, const StoredObservation& row);
Kind kind_of(const StoredObservation& row);

// Runs of a workload that showed a pattern on a platform.
struct StoredSighting {
  std::int64_t workload, platform, pattern;
  double first_at, last_at;
  std::uint64_t runs;
};
// Of two accounts of the same runs the larger one holds.
void sighting(sqlite::Connection& connection, const StoredSighting& row);

struct StoredTotal {
  std::int64_t pattern, platform, workload, settings, explored, size, rate, files, runs, bytes;
  double seconds, last_at;
};
// Likewise.
void total(sqlite::Connection& connection, const StoredTotal& row);

// False where it is there already.
struct StoredModel {
  std::string name, kind;
  std::int64_t platform;  // 0: any
  std::string payload;
  double made_at;
};
bool model(sqlite::Connection& connection, const StoredModel& row);
std::optional<std::string> newest_model(sqlite::Connection& connection, const std::string& name,
                                        const Platform& platform);

}  // namespace iotune::patterndb::rows
