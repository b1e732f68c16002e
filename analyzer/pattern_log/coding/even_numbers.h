// Numbers of 0 … most of which nothing else is known, as raw bits: no adaptive code would make them
// shorter, and this takes a few multiplications each. A number is split into its low bits, which
// stand as they are, and a digit above them. So many digits are one number in their base, which
// wastes less than a bit for all of them together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace iotune::analyzer::pattern_log {

class EvenNumbers {
 public:
  static constexpr unsigned kMostGroup = 24;

  explicit EvenNumbers(std::uint64_t most) noexcept : most_(most) {
    const auto bits = static_cast<unsigned>(std::bit_width(most));
    if (bits == 0) return;
    // The cut and the group that take the fewest bits a number; no digit where it saves nothing.
    std::uint64_t best_bits = 0, best_group = 0;
    if (bits <= kMostRawBits) {
      low_ = bits;
      best_group = kMostGroup;
      best_bits = best_group * bits;
    }
    const unsigned fewest = bits <= kMostRawBits ? 1 : bits - kMostRawBits;
    for (unsigned high = fewest; high <= std::min(bits, std::max(fewest, kMostHigh)); ++high) {
      const unsigned low = bits - high;
      const std::uint64_t base = (most >> low) + 1;
      std::uint64_t limit = 1;
      for (unsigned group = 1; group <= kMostGroup; ++group) {
        if (limit > (std::uint64_t{1} << kMostRawBits) / base) break;
        limit *= base;
        const std::uint64_t taken = width_of(limit) + std::uint64_t{low} * group;
        if (best_group != 0 && taken * best_group >= best_bits * group) continue;
        best_bits = taken;
        best_group = group;
        low_ = low;
        base_ = base;
      }
    }
    group_ = static_cast<unsigned>(best_group);
    std::uint64_t limit = 1;
    for (unsigned digits = 1; digits <= group_; ++digits) {
      limit *= base_;
      widths_[digits] = static_cast<std::uint8_t>(width_of(limit));
    }
  }

  // Numbers are coded so many at a time; fewer only at the end.
  unsigned group() const noexcept { return group_; }

  template <class Coder>
  void code(Coder& coder, std::uint64_t* numbers, unsigned count) const {
    std::uint64_t word = 0;
    if constexpr (Coder::kWrites) {
      for (unsigned i = count; i-- > 0;) word = word * base_ + (numbers[i] >> low_);
    }
    word = coder.raw(word, widths_[count]);
    if constexpr (Coder::kWrites) {
      coder.raw_all(numbers, count, low_);
    } else {
      for (unsigned i = 0; i < count; ++i) {
        numbers[i] = word % base_ << low_ | coder.raw(0, low_);
        word /= base_;
        if (numbers[i] > most_) coder.fail();
      }
      if (word != 0) coder.fail();
    }
  }

 private:
  // BitWriter::raw takes so many; a digit has this many bits where it may.
  static constexpr unsigned kMostRawBits = 56, kMostHigh = 12;
  static unsigned width_of(std::uint64_t limit) noexcept {
    return static_cast<unsigned>(std::bit_width(limit - 1));
  }

  std::uint64_t most_;
  unsigned low_ = 0;
  std::uint64_t base_ = 1;
  unsigned group_ = kMostGroup;
  std::array<std::uint8_t, kMostGroup + 1> widths_{};
};

}  // namespace iotune::analyzer::pattern_log
