// The spool: a folder of observations, one file a run, until someone folds them into a database.
#pragma once

#include <cstdint>
#include <string>

#include "patterndb/store/records.h"

namespace iotune::patterndb {

inline constexpr char kSpoolSuffix[] = ".observation.json";

// What nobody folds in does not fill a home: beyond this the oldest files go, also those that were
// set aside.
inline constexpr std::size_t kMostSpoolFiles = 1024;
inline constexpr std::uint64_t kMostSpoolBytes = 64 << 20;

// A name that no other process draws, for an observation of this run.
std::string spool_name(const std::string& run);

// Writes the observation whole or not at all (a hidden file, then rename), mode 0600, under `name`
// or else a spool_name(). Makes the folder. Returns the path.
Result<std::string> leave_in_spool(const Observation& observation, const std::string& folder,
                                   const std::string& name = {}) noexcept;

// Cheap: whether there is anything to fold.
bool has_spool_files(const std::string& folder) noexcept;

}  // namespace iotune::patterndb
