#include "patterns/packed_columns.h"

#include <bit>
#include <cstring>

#include "patterns/exact_division.h"

namespace iotune::patterns {
namespace {

std::size_t column_bytes(std::size_t n, unsigned width) noexcept {
  return (n * width + 7) / 8;
}

// Numbers of `width` bits, the first in the lowest bits of the first byte.
template <typename NumberOf>
void write_numbers(const std::int64_t* values, std::size_t n, unsigned dims, unsigned width,
                   std::byte* to, NumberOf number_of) noexcept {
  std::uint64_t word = 0;
  unsigned used = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t number = number_of(values[i * dims]);
    word |= number << used;
    used += width;
    if (used < 64) continue;
    std::memcpy(to, &word, 8);
    to += 8;
    used -= 64;
    word = used == 0 ? 0 : number >> (width - used);
  }
  std::memcpy(to, &word, (used + 7) / 8);
}

void write_column(const std::int64_t* values, std::size_t n, unsigned dims,
                  const PackedColumn& column, std::byte* to) noexcept {
  // Mostly a power of two.
  if (const Divider divider(column.unit); divider.is_shift()) {
    const unsigned shift = divider.shift();
    write_numbers(values, n, dims, column.width, to,
                  [base = column.base, shift](std::int64_t value) {
                    return (static_cast<std::uint64_t>(value) - base) >> shift;
                  });
  } else {
    write_numbers(values, n, dims, column.width, to,
                  [base = column.base, divider](std::int64_t value) {
                    return divider.quotient(static_cast<std::uint64_t>(value) - base);
                  });
  }
}

std::uint64_t bits_at(const std::byte* bytes, std::size_t size, std::size_t bit,
                      unsigned width) noexcept {
  const std::size_t byte = bit / 8;
  const unsigned skip = bit % 8;
  std::uint64_t low = 0;
  std::memcpy(&low, bytes + byte, size - byte < 8 ? size - byte : 8);
  std::uint64_t value = low >> skip;
  if (skip + width > 64) {
    value |= std::to_integer<std::uint64_t>(bytes[byte + 8]) << (64 - skip);
  }
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

PackedColumn measure_column(const std::int64_t* values, std::size_t n, unsigned dims,
                            unsigned column) noexcept {
  const std::int64_t first = values[column];
  std::size_t i = 1;
  for (std::uint64_t differ = 0; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) {
      differ |= static_cast<std::uint64_t>(values[(i + k) * dims + column] ^ first);
    }
    if (differ != 0) break;
  }
  while (i < n && values[i * dims + column] == first) ++i;
  if (i == n) return {static_cast<std::uint64_t>(first), 1, 0};
  std::int64_t least = first, largest = first;
  std::uint64_t bits = 0;
  for (; i < n; ++i) {
    const std::int64_t value = values[i * dims + column];
    least = value < least ? value : least;
    largest = value > largest ? value : largest;
    bits |= static_cast<std::uint64_t>(value ^ first);
  }
  const auto base = static_cast<std::uint64_t>(least);
  const std::uint64_t range = static_cast<std::uint64_t>(largest) - base;
  // The factors of two that all differences have; a unit has no more, and mostly nothing else.
  const std::uint64_t twos = bits & (~bits + 1);
  std::uint64_t unit = range;
  Divider divider(unit);
  for (i = 0; i < n && unit > twos; ++i) {
    const std::uint64_t value = static_cast<std::uint64_t>(values[i * dims + column]) - base;
    if (divider.divides(value)) continue;
    unit = greatest_divisor(unit, value);
    divider = Divider(unit);
  }
  // The values differ, so that neither is 0.
  return {base, unit, unit == 0 ? 0 : static_cast<unsigned>(std::bit_width(range / unit))};
}

std::size_t packed_bytes(const std::int64_t* values, std::size_t n, unsigned dims,
                         PackedColumn* columns) noexcept {
  std::size_t bytes = 0;
  for (unsigned j = 0; j < dims; ++j) {
    const PackedColumn& column = columns[j] = measure_column(values, n, dims, j);
    bytes += varint_bytes(zigzag(static_cast<std::int64_t>(column.base))) + 1 +
             (column.width == 0 ? 0 : varint_bytes(column.unit)) + column_bytes(n, column.width);
  }
  return bytes;
}

void write_packed(const std::int64_t* values, std::size_t n, unsigned dims,
                  const PackedColumn* columns, ByteWriter& out) noexcept {
  for (unsigned j = 0; j < dims; ++j) {
    const PackedColumn& column = columns[j];
    out.svarint(static_cast<std::int64_t>(column.base));
    out.u8(static_cast<std::uint8_t>(column.width));
    if (column.width == 0) continue;
    out.varint(column.unit);
    std::byte* const to = out.claim(column_bytes(n, column.width));
    if (to == nullptr) return;
    write_column(values + j, n, dims, column, to);
  }
}

void read_packed(ByteReader& in, std::size_t n, unsigned dims, std::uint64_t* tuples) noexcept {
  for (unsigned j = 0; j < dims; ++j) {
    const auto base = static_cast<std::uint64_t>(in.svarint());
    const unsigned width = in.u8();
    if (in.failed() || width > 64) return in.fail();
    const std::uint64_t unit = width == 0 ? 0 : in.varint();
    const std::span<const std::byte> bytes = in.take(column_bytes(n, width));
    if (in.failed()) return;
    if (tuples == nullptr) continue;
    for (std::size_t i = 0; i < n; ++i) {
      tuples[i * dims + j] =
          width == 0 ? base : base + unit * bits_at(bytes.data(), bytes.size(), i * width, width);
    }
  }
}

}  // namespace iotune::patterns
