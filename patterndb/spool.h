// The spool: a folder of observations, one file a run, until someone folds them into a database.
#pragma once

#include <string>

#include "patterndb/records.h"

namespace iotune::patterndb {

inline constexpr char kSpoolSuffix[] = ".observation.json";

// Writes the observation whole or not at all (a hidden file, then rename), mode 0600, under a
// name that no other process draws. Makes the folder. Returns the path.
Result<std::string> leave_in_spool(const Observation& observation,
                                   const std::string& folder) noexcept;

// Cheap: whether there is anything to fold.
bool has_spool_files(const std::string& folder) noexcept;

}  // namespace iotune::patterndb
