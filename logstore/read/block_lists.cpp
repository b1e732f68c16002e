#include "logstore/read/block_lists.h"

#include <algorithm>

#include "analyzer/index/tuple_file.h"
#include "patterns/crc32c.h"
#include "patterns/tuple_loops.h"

namespace iotune::logstore {
namespace {

using patterns::ByteReader;

bool in_range(std::int64_t value) {
  return value >= 0 && value <= kLargestFile;
}

// Takes one block apart. Whatever it meets, it takes no more memory than the limits say.
class BlockReader {
 public:
  BlockReader(std::span<const std::byte> block, std::size_t most_rows)
      : in_(block), left_(most_rows) {}

  bool read(BlockLists& to) {
    in_.take(kBlockChecked + 4);
    to.flags = in_.u32le();
    to.position = static_cast<std::int64_t>(in_.u64le());
    to.physical = static_cast<std::int64_t>(in_.u64le());
    to.log_bytes = static_cast<std::int64_t>(in_.u64le());
    return in_range(to.position) && in_range(to.physical) && in_range(to.log_bytes) && bodies(to) &&
           terms(to) && holes(to) && pairs(to.knots) && in_.bytes_left() == 0 &&
           to.rows + static_cast<std::int64_t>(to.holes.size()) <= kLargestFile - to.position;
  }

 private:
  bool list() {
    if (!analyzer::read_tuples(in_, 2, left_, values_)) return false;
    left_ -= values_.size() / 2;
    return true;
  }
  std::size_t rows() const { return values_.size() / 2; }
  BlockPair row(std::size_t i) const { return {values_[2 * i], values_[2 * i + 1]}; }

  bool pairs(std::vector<BlockPair>& to) {
    if (!list()) return false;
    to.reserve(rows());
    for (std::size_t i = 0; i < rows(); ++i) to.push_back(row(i));
    return true;
  }

  bool bodies(BlockLists& to) {
    if (!list()) return false;
    const std::vector<std::int64_t> sizes = values_;
    if (!list()) return false;
    to.bodies.push_back({0, 0, 0, 1, 1});
    std::vector<unsigned> depth{0};
    std::size_t part = 0;
    std::size_t stride = 0;
    for (std::size_t i = 0; i < sizes.size(); i += 2) {
      BlockBody body{part, 0, stride, 0, 0};
      unsigned inner = 0;
      if (sizes[i] < 1 || static_cast<std::uint64_t>(sizes[i]) > rows() - part) return false;
      for (; body.parts < static_cast<std::size_t>(sizes[i]); ++body.parts, ++part) {
        std::int64_t entries = 0;
        BlockTerm term{};
        if (!term_at(part, to.bodies, term, entries) ||
            __builtin_add_overflow(body.rows, entries, &body.rows)) {
          return false;
        }
        body.leaves += term.leaves;
        inner = std::max(inner, depth[term.body]);
        to.parts.push_back(term);
      }
      // No more leaves than strides can be there, so that sums of sums do not run away.
      if (body.leaves != static_cast<std::uint64_t>(sizes[i + 1]) || body.leaves > left_) {
        return false;
      }
      if (body.rows > kLargestFile || inner >= patterns::kMaxLoopDepth) return false;
      stride += body.leaves;
      depth.push_back(inner + 1);
      to.bodies.push_back(body);
    }
    return part == rows() && pairs(to.strides) && to.strides.size() == stride;
  }

  bool term_at(std::size_t i, const std::vector<BlockBody>& known, BlockTerm& term,
               std::int64_t& entries) const {
    const BlockPair at = row(i);
    if (at.first < 0 || static_cast<std::uint64_t>(at.first) >= known.size()) return false;
    if (at.second < 1 || (at.first == 0 && at.second != 1)) return false;
    const BlockBody& body = known[static_cast<std::size_t>(at.first)];
    term = {static_cast<std::size_t>(at.first), at.second, body.leaves};
    return !__builtin_mul_overflow(body.rows, at.second, &entries) && entries <= kLargestFile;
  }

  bool terms(BlockLists& to) {
    if (!list()) return false;
    std::size_t leaves = 0;
    for (std::size_t i = 0; i < rows(); ++i) {
      std::int64_t entries = 0;
      BlockTerm term{};
      if (!term_at(i, to.bodies, term, entries)) return false;
      leaves += term.leaves;
      to.rows += entries;
      if (to.rows > kLargestFile || leaves > left_) return false;
      to.terms.push_back(term);
    }
    return pairs(to.leaves) && to.leaves.size() == leaves;
  }

  bool holes(BlockLists& to) {
    return pairs(to.holes) && std::ranges::all_of(to.holes, [](const BlockPair& hole) {
             return in_range(hole.first) && hole.second >= 0 &&
                    hole.second <= kLargestFile - hole.first;
           });
  }

  ByteReader in_;
  std::size_t left_;
  std::vector<std::int64_t> values_;
};

}  // namespace

// The block at the reader's place, and the reader behind it; else the reader did not move.
bool BlockScanner::take(std::span<const std::byte>& block) {
  ByteReader ahead = in_;
  if (false_blocks_ > limits_.false_blocks || ahead.u32le() != kBlockMagic) return false;
  const std::uint32_t crc = ahead.u32le();
  const std::uint32_t size = ahead.u32le();
  if (ahead.failed() || size > kMostPayloadBytes) return false;
  ByteReader whole = in_;
  block = whole.take(kBlockHeadBytes + size);
  if (whole.failed()) return false;
  if (patterns::crc32c(block.data() + kBlockChecked, block.size() - kBlockChecked) != crc) {
    ++false_blocks_;
    return false;
  }
  in_ = whole;
  return true;
}

std::optional<BlockLists> BlockScanner::next() {
  while (in_.bytes_left() != 0) {
    std::span<const std::byte> block;
    if (!take(block)) {
      in_.u8();
      ++passed_over_;
      continue;
    }
    BlockLists lists{};
    last_bytes_ = block.size();
    if (BlockReader(block, limits_.block_rows).read(lists) &&
        (lists.flags & ~kKnownBlockFlags) == 0) {
      return lists;
    }
    refuse_last();
  }
  return std::nullopt;
}

}  // namespace iotune::logstore
