// Brings the ranks' blocks to rank 0: neighbours merge theirs, in a binomial tree, so that rank 0
// gets log2(ranks) messages. They do not grow with the ranks where these did alike.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/gather/byte_buffer.h"
#include "recorder/gather/trace_block_choice.h"

namespace iotune::recorder {

// What one rank contributes: merged blocks (trace_block_merge.h), unmerged blocks of a trace, and
// the choice of its own blocks that stay unmerged.
struct RankShare {
  ByteBuffer shared, apart;
  TraceBlockChoice own;
  bool failed = false;  // for want of memory some blocks are in none of them
};

// Sorts the blocks of rank `rank` of `ranks` into those that can be merged and those that are too
// irregular. Marks of time are no two ranks' the same: of them stays what all ranks have a little
// room for.
RankShare share_of_rank(const HeldBlocks& blocks, std::uint64_t rank, std::uint64_t ranks) noexcept;

// Collective over `comm`, ranks 0 to size - 1. Afterwards `share.shared` of rank 0 has the blocks
// of all ranks, except for those that grew too large on the way: they are in `apart` of some rank,
// as blocks of a trace.
void merge_up_the_tree(const MpiApi& mpi, Word comm, int rank, int size, RankShare& share) noexcept;

// Turns merged blocks (trace_block_merge.h) into blocks of a trace, in place.
void make_trace_blocks(std::span<std::byte> shared) noexcept;

}  // namespace iotune::recorder
