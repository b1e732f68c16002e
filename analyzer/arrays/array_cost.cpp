#include "analyzer/arrays/array_cost.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "analyzer/arrays/split_arrays.h"

namespace iotune::analyzer {
namespace {

constexpr double kArray = 1, kDimension = 0.25, kCyclic = 0.25;
constexpr double kCutRound = 0.3, kCutRun = 1.5;  // the last round ends early, by one run alone
constexpr std::uint64_t kSmallRun = 64, kLeastElement = 4;  // bytes; others are multiples of it
constexpr double kAbsent = 0.1, kOutOfOrder = 0.15;         // not all of the file's ranks
constexpr double kOneLength = 0.1, kMostLengths = 0.9;
// A last block that no division leaves: shorter and of the file's last rank, or any.
constexpr std::uint64_t kMostOfLongest = 2;
constexpr double kShortOfLast = 0.6, kForeign = 1.2;

// Blocks of few ranks that differ much and are little beside the file.
constexpr std::size_t kFew = 3;
constexpr std::uint64_t kLittle = 16;
constexpr double kTables = 1.2;

struct Block {
  std::uint64_t start, bytes;
  std::size_t rank;
};

// A division leaves its last block shorter or longer by fewer units than there are blocks.
bool is_left(std::uint64_t bytes, std::uint64_t usual, std::size_t blocks) {
  const std::uint64_t difference = usual > bytes ? usual - bytes : bytes - usual;
  return difference / std::gcd(usual, bytes) < blocks;
}

// The last block may be what a division leaves. Where the others differ too, it has whole units as
// they have, and is not of another order than they are.
bool is_remainder(const std::vector<Block>& blocks) {
  std::uint64_t unit = 0, longest = 0;
  bool equal = true;
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
    unit = std::gcd(unit, blocks[i].bytes);
    longest = std::max(longest, blocks[i].bytes);
    equal = equal && blocks[i].bytes == blocks[0].bytes;
  }
  const std::uint64_t last = blocks.back().bytes;
  if (equal) return is_left(last, blocks[0].bytes, blocks.size());
  return last <= kMostOfLongest * longest && (unit < kLeastElement || last % unit == 0);
}

// All blocks but the first are a division, and no division makes such a first one: it is a rank's
// own piece. (With halos the blocks overlap, and both ends are shorter.)
bool is_first_foreign(const std::vector<Block>& blocks) {
  const std::uint64_t usual = blocks[1].bytes, first = blocks[0].bytes;
  if (first == usual || blocks[1].start < blocks[0].start + first) return false;
  std::uint64_t longest = 0;
  bool equal = true;
  for (std::size_t i = 1; i + 1 < blocks.size(); ++i) {
    longest = std::max(longest, blocks[i].bytes);
    equal = equal && blocks[i].bytes == usual;
  }
  if (first > kMostOfLongest * longest) return true;
  return equal && is_left(blocks.back().bytes, usual, blocks.size()) &&
         (first < usual || !is_left(first, usual, blocks.size()));
}

// A share of all ranks has equal blocks, and right before or behind them is a piece of another
// rank, or on both sides: how many.
int pieces_at_ends(const std::vector<Block>& blocks, std::size_t ranks) {
  const std::size_t some = blocks.size();
  if (some < 3 || some >= ranks || ranks % some == 0) return 0;
  if (blocks[1].start < blocks[0].start + blocks[0].bytes) return 0;  // halos: ends are shorter
  const std::uint64_t usual = blocks[1].bytes;
  const int before = blocks.front().bytes != usual ? 1 : 0;
  const int behind = blocks.back().bytes != usual ? 1 : 0;
  const auto left = [&](int pieces) { return some - static_cast<std::size_t>(pieces); };
  if (before + behind == 2 && left(2) > 1 && ranks % left(2) == 0) return 2;
  return before + behind > 0 && ranks % left(1) == 0 ? 1 : 0;
}

// One run a rank: how far their lengths are from those of a division.
double cost_of_blocks(const IndexSets& sets, const IndexSets& all) {
  std::vector<Block> blocks;
  std::set<std::uint64_t> lengths;
  for (std::size_t r = 0; r < sets.size(); ++r) {
    if (!sets.shape(r).is_interval()) return 0;
    blocks.push_back({sets.first(r), sets.end(r) - sets.first(r), r});
    lengths.insert(blocks.back().bytes);
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.start < b.start; });
  const Block& last = blocks.back();
  if (const int pieces = pieces_at_ends(blocks, all.size()); pieces > 0) return kForeign * pieces;
  if (blocks.size() > 2 && !is_remainder(blocks)) {
    const bool of_last = sets.size() == all.size() && last.rank + 1 == sets.size();
    return of_last && last.bytes < blocks.front().bytes ? kShortOfLast : kForeign;
  }
  if (blocks.size() > 2 && is_first_foreign(blocks)) return kForeign;
  // A few ranks' tables, one behind the other.
  const std::uint64_t bytes = last.start + last.bytes - blocks.front().start;
  if (*lengths.rbegin() > 2 * *lengths.begin() && sets.size() <= kFew &&
      bytes < all.end() / kLittle) {
    return kTables;
  }
  const bool in_order = std::is_sorted(
      blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.rank < b.rank; });
  return std::min(kMostLengths, kOneLength * static_cast<double>(lengths.size() - 1)) +
         (in_order ? 0 : kOutOfOrder);
}

// The runs of a last round that is not whole: how many ranks have fewer or shorter ones.
double cost_of_rounds(const IndexSets& sets) {
  std::uint64_t most = 0, k = 0;
  for (std::size_t r = 0; r < sets.size(); ++r) {
    most = std::max(most, sets.shape(r).size());
    k = std::max(k, sets.shape(r).progressions().front().block);
  }
  std::size_t with_most = 0;
  for (std::size_t r = 0; r < sets.size(); ++r) with_most += sets.shape(r).size() == most ? 1 : 0;
  if (with_most == sets.size()) return 0;
  if (with_most > 1 || most % k == 0) return kCutRound;
  // A run of its own, or a library's own piece? These are seldom small and made of elements.
  return k <= kSmallRun && std::gcd(k, most) % kLeastElement == 0 ? kCutRound : kCutRun;
}

}  // namespace

double cost_of(const InferredShape& shape, const IndexSets& sets, const IndexSets& all) {
  const std::vector<DimensionPattern>& dimensions = shape.described.descriptor.dimensions;
  if (shape.described.process_grid.empty() || dimensions.empty()) return kNoName;
  double cost = kArray + kDimension * static_cast<double>(dimensions.size() - 1);
  bool cyclic = false;
  for (const DimensionPattern& one : dimensions) {
    if (one.distribution != Distribution::kCyclic && one.distribution != Distribution::kCyclicK) {
      continue;
    }
    cost += kCyclic;
    cyclic = true;
  }
  if (sets.size() > 1 && sets.size() < all.size()) cost += kAbsent;
  if (dimensions.size() == 1 && sets.size() > 1) {
    cost += cyclic ? cost_of_rounds(sets) : cost_of_blocks(sets, all);
  }
  return cost;
}

bool are_likely(const std::vector<FileArray>& arrays, std::size_t ranks) {
  if (ranks < 2 || arrays.empty()) return !arrays.empty();
  std::uint64_t all = 0, shared = 0, largest = 0, held = 0, several = 0;
  for (const FileArray& one : arrays) {
    const std::uint64_t bytes = (one.end - one.begin) * one.copies;
    all += bytes;
    largest = std::max(largest, bytes);
    if (one.shape.described.ranks < 2) continue;
    shared += bytes;
    held += one.shape.described.ranks;
    ++several;
  }
  if (largest >= all / 4 && arrays.size() <= 32) return true;
  return 2 * shared >= all &&
         (several <= 8 || 2 * held >= several * std::min<std::size_t>(ranks, 8));
}

}  // namespace iotune::analyzer
