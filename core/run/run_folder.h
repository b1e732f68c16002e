// The run's folder in the home, which all of its nodes see (design.md, rule 2): a name a node with
// the ranks that it has registered, and one answer whether they are all ranks of the world. Each
// node makes a handful of requests there, however many ranks it has.
#pragma once

#include <cstdint>

namespace iotune {

// Those that are loaded, may tune, keep files as logs, and gather writes.
struct RankCounts {
  std::uint64_t loaded, tuning, logging, gathering;
};

// The same of all ranks of the world.
struct AllRanks {
  bool loaded, tune, log, gather;
};

// False where the run's nodes have no folder in common.
bool has_run_folder() noexcept;

// Makes this node's ranks known, once, before the last of them enters MPI_Init. False where that
// failed: then the other nodes do not count them.
bool publish_node(const RankCounts& counts) noexcept;
// The same where the launcher does not say how many ranks the node has: by each of them, the node's
// lock held; the last call holds.
bool publish_node_so_far(const RankCounts& counts) noexcept;

struct RunAnswer {
  AllRanks all;
  bool first;         // this call's answer is the one that holds
  int nodes;          // of the run, at least 1
  RankCounts counts;  // as this call saw them
};

// The first answer that a node gives holds for all. Only a node that was published may be part of a
// "yes".
RunAnswer ask_run(std::uint64_t world_size, const RankCounts& own) noexcept;
// By a node that is not published: the answer is no, if nobody has answered yet. True where this is
// the first answer.
bool refuse_run() noexcept;

// By one rank a node, when all nodes have the answer yes, with what it was about.
void leave_run_folder(const RankCounts& own, std::uint64_t world_size, const AllRanks& all,
                      int nodes) noexcept;

}  // namespace iotune
