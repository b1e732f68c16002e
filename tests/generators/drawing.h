// Numbers drawn from a seed, the same on every machine: the standard library's distributions
// may differ between its versions, and a failed draw has to be repeatable by its seed.
#pragma once

#include <cstdint>

namespace iotune::generators {

class Drawing {
 public:
  explicit constexpr Drawing(std::uint64_t seed) noexcept : state_(seed) {}

  // splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  // From low to high, both included. The bias of a remainder is below 2^-20 for what is drawn here.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }

  constexpr bool percent(double share) noexcept {
    return static_cast<double>(next() >> 11) * 0x1p-53 * 100.0 < share;
  }

 private:
  std::uint64_t state_;
};

}  // namespace iotune::generators
