// A sequence of integer tuples (offset, length, count, …) as nested loops:
// lossless, and as long as its regularity rather than as long as the sequence.
// The bytes and the algorithm are described in README.md.
//
// Arithmetic is modulo 2^64: every int64 value, INT64_MIN included, is legal in
// every place. No function here allocates, throws or keeps anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"

namespace iotune::patterns {

inline constexpr unsigned kMaxDims = 160;
inline constexpr unsigned kMaxLoopDepth = 8;
inline constexpr std::size_t kMaxTuples = std::size_t{1} << 28U;

struct EncodeOptions {
  // The longest loop body that is looked for, in terms (a term is a tuple or an
  // inner loop). Time per irregular tuple grows with it. 1..kMaxBodyTerms;
  // 64 suits sequences of stream ids.
  unsigned max_body_terms = 32;
};
inline constexpr unsigned kMaxBodyTerms = 256;

// Scratch memory that encode_tuples needs for n tuples of `dims` values, in
// bytes, whatever the options and the alignment of the scratch. 0 if n or dims
// is out of range.
std::size_t scratch_bytes(std::size_t n, unsigned dims) noexcept;

// Size of the plain form, in bytes: every value as the svarint of its
// difference to the same place of the tuple before.
std::size_t plain_bytes(std::span<const std::int64_t> values, std::size_t n,
                        unsigned dims) noexcept;

// Appends values[n][dims] (row-major) to `out`, in at most plain_bytes() + 1
// bytes. n and dims are not stored: the caller keeps them. False, with `out` as
// it was, if scratch or out is too small or n, dims or values is out of range.
bool encode_tuples(std::span<const std::int64_t> values, std::size_t n, unsigned dims,
                   std::span<std::byte> scratch, ByteWriter& out,
                   const EncodeOptions& options = {}) noexcept;

// Reads exactly n tuples into out[0 .. n*dims) and leaves `in` behind them.
// False on damage: `in` has then failed and the content of `out` is
// unspecified. Takes time in proportion to n * dims, whatever the bytes.
bool decode_tuples(ByteReader& in, std::size_t n, unsigned dims,
                   std::span<std::int64_t> out) noexcept;

// The same where they are tuples and loops of one tuple alone: writes a run of
// each, which is how many tuples, the first one, and what each next one adds. Returns the number
// of runs; 0, with `in` as it was, where it is no such sequence, has more runs than there is room
// for, or is damaged. Takes time in proportion to the bytes.
std::size_t decode_tuple_runs(ByteReader& in, std::size_t n, unsigned dims,
                              std::span<std::int64_t> runs) noexcept;

// Leaves `in` where decode_tuples would, without room for the tuples. Takes time in proportion
// to the bytes, but for the plain and packed forms' n * dims at most.
bool skip_tuples(ByteReader& in, std::size_t n, unsigned dims) noexcept;

}  // namespace iotune::patterns
