#include "analyzer/pattern_log/coding/packed_run.h"

#include <algorithm>
#include <bit>

#include "patterns/bytes.h"

namespace iotune::analyzer::pattern_log {
namespace {

constexpr std::size_t kTermsAtOnce = 256;
constexpr std::size_t kLeastRun = 24;
constexpr std::uint32_t kMostRun = 1U << 14U;
constexpr unsigned kSeenBits = 16;

unsigned bits_of(std::uint64_t value) noexcept {
  return static_cast<unsigned>(std::bit_width(value));
}
unsigned signed_bits(std::uint64_t value) noexcept {
  return bits_of(patterns::zigzag(signed_of(value)));
}

// About what TermModel takes for an access: one that was met before, or predicted, takes few.
class UnpackedCost {
 public:
  explicit UnpackedCost(std::vector<std::uint32_t>& seen) noexcept : seen_(seen) {}

  std::uint64_t next(const Extent& leaf) noexcept {
    const std::uint64_t step = unsigned_of(leaf.offset) - unsigned_of(before_.offset);
    const std::uint64_t length = unsigned_of(leaf.length);
    const std::uint64_t hash = step * 0x9e3779b97f4a7c15U ^ length * 0xd1342543de82ef95U;
    std::uint32_t& slot = seen_[hash >> (64U - kSeenBits)];
    const auto mark = static_cast<std::uint32_t>(hash >> 16U) | 1U;
    std::uint64_t bits = 3;
    if (slot != mark) {
      if (step != step_ && step != unsigned_of(before_.length)) bits += signed_bits(step);
      if (leaf.length != before_.length) bits += bits_of(length) + 1;
    }
    slot = mark;
    step_ = step;
    before_ = leaf;
    return bits;
  }

 private:
  std::vector<std::uint32_t>& seen_;
  Extent before_{};
  std::uint64_t step_ = 0;
};

}  // namespace

PackedRange range_of(const TermList& list, std::size_t first, std::size_t count,
                     std::int64_t Extent::*column) {
  std::int64_t least = list.leaves[first].*column, largest = least;
  for (std::size_t i = first; i < first + count; ++i) {
    least = std::min(least, list.leaves[i].*column);
    largest = std::max(largest, list.leaves[i].*column);
  }
  const std::uint64_t range = unsigned_of(largest) - unsigned_of(least);
  if (range == 0) return {unsigned_of(least), 1, 0};
  std::uint64_t unit = range;
  patterns::Divider divider(unit);
  for (std::size_t i = first; i < first + count && unit > 1; ++i) {
    const std::uint64_t value = unsigned_of(list.leaves[i].*column) - unsigned_of(least);
    if (divider.divides(value)) continue;
    unit = patterns::greatest_divisor(unit, value);
    divider = patterns::Divider(unit);
  }
  return {unsigned_of(least), unit, range / unit};
}

void PackedRangeModel::prepare(const TermList& list, std::size_t first, std::size_t count,
                               std::int64_t Extent::*column) {
  // What a new range takes, about.
  constexpr std::uint64_t kRangeBits = 64;
  // A range of few values is made wider, so that it may do for others of the same kind.
  constexpr std::size_t kFew = 1024;
  constexpr unsigned kWider = 32;
  next_ = range_of(list, first, count, column);
  const std::uint64_t below = next_.least - last_.least;
  const std::uint64_t largest = below + next_.unit * next_.most;
  const bool fits = last_.unit != 0 && next_.unit % last_.unit == 0 && below % last_.unit == 0 &&
                    largest >= below && largest / last_.unit <= last_.most;
  repeats_ = fits && count * (bits_of(last_.most) - bits_of(next_.most)) <= kRangeBits;
  if (repeats_ || count > kFew || next_.most < kWider) return;
  if (bits_of(next_.most) + bits_of(next_.unit) > 62) return;
  const std::uint64_t more = next_.most / kWider;
  const std::uint64_t down =
      signed_of(next_.least) < 0 ? more : std::min(more, next_.least / next_.unit);
  next_.least -= down * next_.unit;
  next_.most += down + more;
}

std::vector<std::uint32_t> find_packed_runs(const Shapes& shapes, const TermList& list,
                                            std::vector<std::uint32_t>& seen) {
  const std::size_t size = list.terms.size();
  std::vector<std::uint32_t> packed(size, 0);
  // Nothing is packed so far, and nothing can be here.
  if (seen.empty() && size < kLeastRun) return packed;
  seen.resize(std::size_t{1} << kSeenBits);
  UnpackedCost cost(seen);
  std::size_t leaf = 0;
  for (std::size_t term = 0; term < size;) {
    std::size_t run = 0;
    while (run < kTermsAtOnce && term + run < size && list.terms[term + run].shape == 0) ++run;
    if (run == 0) {
      leaf += shapes[list.terms[term++].shape].leaves;
      continue;
    }
    std::uint64_t unpacked = 0;
    for (std::size_t i = 0; i < run; ++i) unpacked += cost.next(list.leaves[leaf + i]);
    if (run >= kLeastRun) {
      const PackedRange offsets = range_of(list, leaf, run, &Extent::offset);
      const PackedRange lengths = range_of(list, leaf, run, &Extent::length);
      if (run * (bits_of(offsets.most) + bits_of(lengths.most)) < unpacked) {
        std::fill_n(packed.begin() + static_cast<std::ptrdiff_t>(term), run, 1);
      }
    }
    term += run;
    leaf += run;
  }
  for (std::size_t term = size; term-- > 1;) {
    if (packed[term - 1] != 0) packed[term - 1] = std::min(packed[term] + 1, kMostRun);
  }
  return packed;
}

}  // namespace iotune::analyzer::pattern_log
