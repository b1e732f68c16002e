// Goes through the calls of processes and notes down what they did to which file.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/alike_ranks.h"
#include "analyzer/file_table.h"

namespace iotune::analyzer {

// Processes that are alike are gone through once; of the others only where they moved what.
// `wall_ns`: when each of them started, Unix time.
void walk_processes(AlikeRanks& ranks, const std::vector<std::uint64_t>& wall_ns, FileTable& files);

}  // namespace iotune::analyzer
