// What observations change: drifting workloads, and answers that move to another state. Inside the
// caller's transaction; messages are one line each, for people.
#pragma once

#include <string>
#include <vector>

#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

// Call before the use is stored: whether the workload shows the pattern not for the first time in
// a row. A change is written down. `pattern` is the row of `use`.
struct Sighting {
  std::int64_t workload, pattern;
  std::string byte_key, run;
  bool write;
  double observed_at;
};
bool is_settled(sqlite::Connection& connection, const Sighting& sighting,
                std::vector<std::string>& moves);

// Takes the run of a spool file, whose observations are stored, into account in the trials of the
// answers that were applied or left at the default on purpose. An answer that loses to the default
// becomes *reverted*, one whose settings never take effect *refused*.
void learn_from_run(sqlite::Connection& connection, const std::string& spool_file,
                    std::vector<std::string>& moves);

}  // namespace iotune::patterndb
