// Merges the trace blocks of a range of ranks, on their way up the tree of ranks at the end of a
// run. What the ranks did alike is kept once: for a regular program the result does not grow with
// the ranks, except for what tells the processes apart (pid, clock). Part of the preload: libc, no
// memory of its own, never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "recorder/format.h"

namespace iotune::recorder {

// Larger blocks are not taken apart: little in them is regular.
inline constexpr std::size_t kMostSharedBytes = 8U << 10U;

// Scratch for add_rank_block, aligned to 8.
std::size_t rank_block_scratch_bytes() noexcept;

// Appends one block of one rank. `ordinal`: how many blocks of this type the rank had before.
// False, with `out` as it was, where the block is too large, is damaged or does not fit.
bool add_rank_block(BlockType type, std::span<const std::byte> payload, std::uint64_t ordinal,
                    std::uint64_t rank, std::span<std::byte> scratch,
                    patterns::ByteWriter& out) noexcept;

// Scratch for merge_rank_blocks(a, b), aligned to 8.
std::size_t merge_rank_blocks_scratch_bytes(std::span<const std::byte> a,
                                            std::span<const std::byte> b) noexcept;

// Merges the blocks of the ranks of `a` with those of `b`, whose ranks are all higher. Blocks that
// would not become shorter stay as they were. `out` needs room for both; with kMergeRoom times as
// much no block stays unmerged for want of room. Returns the bytes written; 0 on damage.
inline constexpr std::size_t kMergeRoom = 4;
std::size_t merge_rank_blocks(std::span<const std::byte> a, std::span<const std::byte> b,
                              std::span<std::byte> scratch, std::span<std::byte> out) noexcept;

// One block after the other.
class RankBlockCursor {
 public:
  explicit RankBlockCursor(std::span<const std::byte> blocks) noexcept : left_(blocks) {}

  // False at the end and on damage; failed() says which.
  bool next() noexcept;
  bool failed() const noexcept { return failed_; }

  // 0: a block that was not worth merging before.
  std::uint64_t key() const noexcept { return key_; }
  std::span<const std::byte> payload() const noexcept { return payload_; }
  // With head and padding.
  std::span<const std::byte> whole() const noexcept { return whole_; }

 private:
  std::span<const std::byte> left_, payload_, whole_;
  std::uint64_t key_ = 0;
  bool failed_ = false;
};

}  // namespace iotune::recorder
