// What a container may ask of its reader: bytes of others are never trusted with more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::logstore {

struct ReadLimits {
  std::size_t writers = std::size_t{1} << 20;
  // Of all index files together; larger ones are refused.
  std::uint64_t index_bytes = std::uint64_t{1} << 30;
  // Rows of all lists of one block together, 16 bytes each.
  std::size_t block_rows = std::size_t{1} << 22;
  // Nests that one block may become: a loop whose writes grow is one for each of them.
  std::size_t block_nests = std::size_t{1} << 20;
  // Nests, knots and holes of all writers together, some 200 bytes each while they are merged.
  std::size_t entries = std::size_t{1} << 24;
  // Places that look like a block and are none, in one index.
  int false_blocks = 256;
};

}  // namespace iotune::logstore
