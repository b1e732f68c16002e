// Patterns compared in bytes: IOR writing 32 MiB blocks of 8-byte integers is VPIC-IO's pattern
// with 4-byte floats. The last dimension of a dataset is contiguous in the file, so it alone is
// counted in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/datasets/descriptor.h"
#include "patterndb/store/result.h"

namespace iotune::patterndb {

using analyzer::parse_descriptor;

// The same pattern with its last dimension in bytes. Throws Fault on overflow or element size 0.
analyzer::Descriptor in_bytes(const analyzer::Descriptor& descriptor, std::uint64_t element_bytes);

std::string joined(const std::vector<std::uint64_t>& numbers);  // "2x3", "" where empty
// The inverse of joined(). Throws Fault.
std::vector<std::uint64_t> split_numbers(std::string_view text);

// One direction on one dataset, as the database holds it.
struct Pattern {
  analyzer::Descriptor descriptor;  // in elements
  bool write = true;
  std::uint64_t element_bytes = 0;
  std::uint64_t ranks = 0;
  std::uint64_t filters = 0;
  std::string mode;  // independent, collective, mixed, unknown
  std::vector<std::uint64_t> grid, chunk, dataset_dims;
};

// Equal for patterns that are the same to the file system. Persistent: a column of the database.
//   <1D,(BLOCK),(33554432 B)> write independent ranks=4 grid=4 chunk=none filters=0
// An irregular pattern carries its dataset's dimensions too, because its counts say little.
std::string byte_key(const Pattern& pattern);

}  // namespace iotune::patterndb
