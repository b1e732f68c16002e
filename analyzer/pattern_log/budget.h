// How much a reader makes of damaged bytes at most.
#pragma once

#include <cstdint>

namespace iotune::analyzer::pattern_log {

// Of all that is read into memory in one section.
inline constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 23U;

// What is left of that bound.
class Budget {
 public:
  // `count` things of so many numbers each. A count that damage made may be any, and its product
  // none that tells: they are not multiplied before it is known that they fit.
  template <class Coder>
  bool take(Coder& coder, std::uint64_t count, std::uint64_t each = 1) {
    const bool fits = each == 0 || count <= left_ / each;
    if constexpr (!Coder::kWrites) {
      if (!fits) coder.fail();
    }
    left_ = fits ? left_ - count * each : 0;
    return !coder.failed();
  }

 private:
  std::uint64_t left_ = kMostNumbers;
};

}  // namespace iotune::analyzer::pattern_log
