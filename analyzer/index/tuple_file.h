// Numbers as the bytes of patterns/tuple_loops.h, in memory that grows as needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "patterns/bytes.h"

namespace iotune::analyzer {

void append_varint(std::vector<std::byte>& to, std::uint64_t value);

// Appends varint n, then tuples(n, dims); values.size() must be a multiple of dims.
void append_tuples(std::vector<std::byte>& to, std::span<const std::int64_t> values, unsigned dims);

// Reads what append_tuples wrote. False on damage, or where n exceeds `most`.
bool read_tuples(patterns::ByteReader& in, unsigned dims, std::size_t most,
                 std::vector<std::int64_t>& values);

}  // namespace iotune::analyzer
