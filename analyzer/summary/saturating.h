// Sums and products that stop at the largest number: a log may tell more bytes than 64 bits count,
// and "at least so many" is right where a remainder would be a lie.
#pragma once

#include <cstdint>

namespace iotune::analyzer {

constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

constexpr std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

inline double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

}  // namespace iotune::analyzer
