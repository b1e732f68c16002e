// Columns of tuples as numbers of a fixed width each: what has no pattern but a narrow range or
// a common divisor takes little more than its entropy. Internal to patterns/; the bytes are
// described in README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "patterns/bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {

// value = base + unit * k, with k in `width` bits. Modulo 2^64.
struct PackedColumn {
  std::uint64_t base, unit;
  unsigned width;  // 0..64; 0: constant
};

// The column of values[n][dims] that is packed best; n > 0.
PackedColumn measure_column(const std::int64_t* values, std::size_t n, unsigned dims,
                            unsigned column) noexcept;

// Bytes of n packed tuples, `columns[dims]` filled.
std::size_t packed_bytes(const std::int64_t* values, std::size_t n, unsigned dims,
                         PackedColumn* columns) noexcept;

// No fewer can they be where `changing` of the columns are not the same in all tuples.
constexpr std::size_t least_packed_bytes(std::size_t n, unsigned dims, unsigned changing) noexcept {
  // Each column has a base and a width, a changing one a unit and a bit a tuple.
  return std::size_t{2} * dims + changing * (1 + (n + 7) / 8);
}

void write_packed(const std::int64_t* values, std::size_t n, unsigned dims,
                  const PackedColumn* columns, ByteWriter& out) noexcept;

// Fills tuples[n][dims], or only passes over the bytes where `tuples` is nullptr. `in` fails on
// damage.
void read_packed(ByteReader& in, std::size_t n, unsigned dims, std::uint64_t* tuples) noexcept;

}  // namespace iotune::patterns
