// What a run leaves for the database.
#pragma once

#include <string>
#include <vector>

#include "analyzer/summary/run_summary.h"
#include "patterndb/store/records.h"

namespace iotune::patterndb {

// The files of the run that HDF5 moved data of, or that a decision was made for. A file's
// settings are those that took effect or may have (unverifiable). Nothing is said of a file that a
// process left open when it died.
Observation observation_of(const analyzer::RunSummary& summary, const std::string& trace_path);

// Analyses the trace and leaves its observation in the spool. Returns the spool file's path,
// empty where the run did nothing that could be learnt from.
Result<std::string> observe(const std::string& trace_path, const std::string& spool) noexcept;

// At a run's end: folds what lies in the spool into the user's database, where that takes no
// waiting; else it is left for the next run or command. No failure is worth a word there.
// `lower`: databases whose answers runs may have got (patterndb/decide/site_copies.h).
void fold_spool(const std::string& database, const std::string& spool,
                const std::vector<std::string>& lower = {}) noexcept;

// Stores the observation in the user's database, without the detour through the spool, where it
// would be written, read and parsed. Where the database cannot be written without waiting, it is
// left in the spool: the path there, else empty. `name`: as of a spool file; one that was stored
// before counts once.
Result<std::string> keep(const Observation& observation, const std::string& database,
                         const std::string& spool, const std::string& name,
                         const std::vector<std::string>& lower = {}) noexcept;

}  // namespace iotune::patterndb
