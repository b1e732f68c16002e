// How much a reader makes of damaged bytes at most.
#pragma once

#include <algorithm>
#include <cstdint>

namespace iotune::analyzer::pattern_log {

// Of all that is read into memory in one section.
inline constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 23U;

// What is left of that bound.
class Budget {
 public:
  template <class Coder>
  bool take(Coder& coder, std::uint64_t numbers) {
    if constexpr (!Coder::kWrites) {
      if (numbers > left_) coder.fail();
    }
    left_ -= std::min(numbers, left_);
    return !coder.failed();
  }

 private:
  std::uint64_t left_ = kMostNumbers;
};

}  // namespace iotune::analyzer::pattern_log
