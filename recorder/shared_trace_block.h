// SHARED blocks of a trace: they hold one block of each of many ranks, as the block of the first
// rank and the course of its numbers over the ranks (FORMAT.md). Part of the preload: takes no
// memory but the caller's, never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "recorder/trace_block_tokens.h"

namespace iotune::recorder {

// The values of one token over the ranks are runs of (ranks, value of the first, stride), modulo
// 2^64, of three words each.
inline constexpr std::size_t kWordsPerRun = 3;

// Reads the runs of n values into `words`, room for n runs. Returns the number of runs, 0 on
// damage.
std::size_t read_runs(patterns::ByteReader& in, std::uint64_t n,
                      std::span<std::int64_t> words) noexcept;

// The parts of the payload of a SHARED block; they point into it.
struct SharedParts {
  BlockType type = BlockType::kEvents;
  std::uint64_t ranks = 0;
  std::uint64_t tokens = 0;
  std::span<const std::byte> rank_runs, kinds, values;
  std::uint64_t times = 0;
  std::span<const std::byte> time_values;
  std::span<const std::byte> columns;  // of the tokens that differ over the ranks

  // False on damage.
  bool read(std::span<const std::byte> payload) noexcept;
};

SharedTimes read_times(patterns::ByteReader& in, std::uint64_t previous_token) noexcept;

// Writes the payload for one rank. False where `out` is too small.
bool write_shared(BlockType type, std::uint64_t rank, const TraceBlockTokens& tokens,
                  const TokenSpace& space, patterns::ByteWriter& out) noexcept;

// Scratch for merging payloads of `ranks` ranks in all, to be aligned to 8.
std::size_t merge_scratch_bytes(std::uint64_t ranks) noexcept;

// Writes one payload for the ranks of `a`, then those of `b`. False, with `out` as it was, where
// the two are not alike or the result does not fit into `out`.
bool merge_shared(const SharedParts& a, const SharedParts& b, std::span<std::byte> scratch,
                  patterns::ByteWriter& out) noexcept;

}  // namespace iotune::recorder
