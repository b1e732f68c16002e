// SHARED blocks: one block of each of many ranks, as the block of the first of them and how its
// numbers go on over the ranks (FORMAT.md). Part of the preload: takes no memory but the
// caller's, never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "recorder/block_tokens.h"

namespace iotune::recorder {

// The values of one token over the ranks: runs of (ranks, value of the first, stride), modulo
// 2^64, three words each.
inline constexpr std::size_t kWordsPerRun = 3;

// Reads the runs of n values into `words`, room for n runs. Returns the number of runs, 0 on
// damage.
std::size_t read_runs(patterns::ByteReader& in, std::uint64_t n,
                      std::span<std::int64_t> words) noexcept;

// The payload of a SHARED block, taken apart. Points into it.
struct SharedParts {
  BlockType type = BlockType::kEvents;
  std::uint64_t ranks = 0;
  std::uint64_t tokens = 0;
  std::span<const std::byte> rank_runs, kinds, values;
  std::uint64_t times = 0;
  std::span<const std::byte> time_values;
  std::span<const std::byte> columns;  // what differs over the ranks

  // False on damage.
  bool read(std::span<const std::byte> payload) noexcept;
};

SharedTimes read_times(patterns::ByteReader& in, std::uint64_t previous_token) noexcept;

// Writes the payload for one rank. False where `out` is too small.
bool write_shared(BlockType type, std::uint64_t rank, const BlockTokens& tokens,
                  const TokenSpace& space, patterns::ByteWriter& out) noexcept;

// Scratch for merging payloads of so many ranks together, to be aligned to 8.
std::size_t merge_scratch_bytes(std::uint64_t ranks) noexcept;

// Writes what stands for the ranks of `a`, then those of `b`. False, with `out` as it was, where
// the two are not alike, or what they make does not fit into `out`.
bool merge_shared(const SharedParts& a, const SharedParts& b, std::span<std::byte> scratch,
                  patterns::ByteWriter& out) noexcept;

}  // namespace iotune::recorder
