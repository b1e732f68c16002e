// Numbers as multiples of what they have in common.
#pragma once

#include <bit>
#include <cstdint>

namespace iotune::patterns {

constexpr std::uint64_t greatest_divisor(std::uint64_t a, std::uint64_t b) noexcept {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Divides by a fixed number what it divides: an odd number has an inverse modulo 2^64, and only
// multiples of it come out small. A division takes ten times as long.
class Divider {
 public:
  explicit Divider(std::uint64_t unit) noexcept
      : shift_(static_cast<unsigned>(std::countr_zero(unit))),
        mask_((std::uint64_t{1} << shift_) - 1),
        odd_(unit >> shift_),
        inverse_(odd_),
        most_(UINT64_MAX / odd_) {
    // Newton's iteration doubles the good bits, of which an odd number has three to begin with.
    for (int i = 0; i < 5; ++i) inverse_ *= 2 - odd_ * inverse_;
  }
  bool divides(std::uint64_t value) const noexcept {
    return (value & mask_) == 0 && quotient(value) <= most_;
  }
  // By a power of two.
  bool is_shift() const noexcept { return odd_ == 1; }
  unsigned shift() const noexcept { return shift_; }
  std::uint64_t quotient(std::uint64_t value) const noexcept {
    return (value >> shift_) * inverse_;
  }

 private:
  unsigned shift_;
  std::uint64_t mask_, odd_, inverse_, most_;
};

}  // namespace iotune::patterns
