// Makes one trace of the process buffers of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/read/result.h"

namespace iotune::recorder {

struct JoinReport {
  std::uint64_t processes = 0;  // in the trace now, those that it held before included
  std::uint64_t calls = 0;
  std::uint64_t removed = 0;          // buffers
  std::vector<std::string> warnings;  // buffers left out, damage, buffers still in use
};

// Writes `output` by way of a temporary file beside it and rename, readable by its owner only.
// A trace of the same run that is there already is kept as a part of it, one of another run is
// replaced, and a file that is no trace is an error. Buffers may be joined again: a batch
// counts once. With `remove` the buffers that stand in the trace now are deleted, but never
// one whose process may still write to it.
Result<JoinReport> join(const std::vector<std::string>& buffers, const std::string& output,
                        bool remove);

}  // namespace iotune::recorder
