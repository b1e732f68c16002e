// Joins logs, such as those of workers that each read a part of a run. What loops are is not
// found again: terms are taken over as they are, and alike streams of all logs become one table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/read/result.h"

namespace iotune::analyzer {

struct MergedLog {
  std::uint64_t bytes = 0, streams = 0;
};

// Writes to the file `out` a log with the streams of all `parts` (files), in their order. In memory
// for two sections, whatever the logs' sizes.
recorder::Result<MergedLog> merge_logs(const std::vector<std::string>& parts,
                                       const std::string& out);

}  // namespace iotune::analyzer
