// What of a run is not in its trace, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::recorder {

// "rank 3 (process 4711)"; without a rank "process 4711".
std::string process_name(const Attributes& attributes);

// What is known without decoding calls: damage of the file, processes and calls that are
// missing, processes that did not end.
std::vector<std::string> losses_of(const TraceIndex& index);

// Workers that SIGTERM of a process of the run ended, as a pool ends its own, in a line for each
// parent: nothing that they did is missing, and losses_of has none of them.
std::vector<std::string> ended_workers_of(const TraceIndex& index);

// Of batches that turned out to be damaged when they were decoded.
std::string unreadable_text(std::uint64_t batches);

}  // namespace iotune::recorder
