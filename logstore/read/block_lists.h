// One block of an index, taken apart into its lists and checked (FORMAT.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "logstore/format.h"
#include "logstore/read/limits.h"
#include "patterns/bytes.h"

namespace iotune::logstore {

struct BlockBody {
  std::size_t first_part, parts;
  std::size_t first_stride, leaves;
  std::int64_t rows;  // entries in one iteration
};
struct BlockTerm {
  std::size_t body;  // 0: one access
  std::int64_t count;
  std::size_t leaves;
};
struct BlockPair {
  std::int64_t first;
  std::int64_t second;
};

struct BlockLists {
  std::uint32_t flags;
  std::int64_t position, physical, log_bytes;
  std::vector<BlockBody> bodies;  // [0] is one access
  std::vector<BlockTerm> parts;
  std::vector<BlockPair> strides;  // offset, length
  std::vector<BlockTerm> terms;
  std::vector<BlockPair> leaves;  // offset, length
  std::vector<BlockPair> holes;   // start, length
  std::vector<BlockPair> knots;   // position, time; both less what they are counted from
  std::int64_t rows = 0;          // writes
};

// The next whole block with the right checksum and known flags; `in` is behind it then. Counts what
// it passes over. Nothing where there is none, and `in` is at its end.
class BlockScanner {
 public:
  BlockScanner(std::span<const std::byte> blocks, const ReadLimits& limits)
      : in_(blocks), limits_(limits) {}

  // What the block says was checked by itself: references, counts, sums.
  std::optional<BlockLists> next();
  std::uint64_t bytes_passed_over() const { return passed_over_; }
  // The bytes of the block that next() gave last count as damage, too.
  void refuse_last() { passed_over_ += last_bytes_; }

 private:
  bool take(std::span<const std::byte>& block);

  patterns::ByteReader in_;
  ReadLimits limits_;
  std::uint64_t passed_over_ = 0;
  std::uint64_t last_bytes_ = 0;
  int false_blocks_ = 0;
};

}  // namespace iotune::logstore
