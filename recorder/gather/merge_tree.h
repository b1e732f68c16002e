// The ranks' blocks on their way to rank 0: neighbours merge theirs, in a binomial tree, so that
// rank 0 meets log2(ranks) messages which do not grow with the ranks where these did alike.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/gather/block_choice.h"
#include "recorder/gather/byte_buffer.h"

namespace iotune::recorder {

// What one rank has to give: blocks in the form of rank_blocks.h, blocks of a trace which are to
// be written as they are, and those of its own which are.
struct RankShare {
  ByteBuffer shared, apart;
  BlockChoice own;
  bool failed = false;  // memory was missing: some blocks are in none of them
};

// Sorts this rank's blocks into those that may be merged and those that are too irregular.
RankShare share_of_rank(const HeldBlocks& blocks, std::uint64_t rank) noexcept;

// Collective over `comm`, ranks 0 to size - 1. Afterwards `share.shared` of rank 0 stands for all
// ranks, but for what grew too large on its way: that is among the `apart` of some rank, as
// blocks of a trace.
void merge_up_the_tree(const MpiApi& mpi, Word comm, int rank, int size, RankShare& share) noexcept;

// Turns blocks in the form of rank_blocks.h into blocks of a trace, where they stand.
void make_trace_blocks(std::span<std::byte> shared) noexcept;

}  // namespace iotune::recorder
