// Goes through the calls of processes and notes down what they did to which file.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/alike_ranks.h"
#include "analyzer/file_table.h"

namespace iotune::analyzer {

struct Member {
  std::uint64_t wall_ns;  // when it started, Unix time
  bool died;              // it ended without a word
};

// Processes that are alike are gone through once; of the others only where they moved what.
void walk_processes(AlikeRanks& ranks, const std::vector<Member>& members, FileTable& files);

struct WalkedCalls {
  std::uint64_t calls = 0, unreadable_batches = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;  // after the process's start
};

// One process with more calls than memory is wanted for: a batch of each of its threads is held.
// What a thread notes down of a dataset only after another one's calls on it were read is missed.
WalkedCalls walk_long_process(const recorder::TraceIndex& index, std::size_t process,
                              const Member& member, FileTable& files);

}  // namespace iotune::analyzer
