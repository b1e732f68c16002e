// A piece of a file as a call asked for it or got it: what offset patterns are made of.
#pragma once

#include <cstdint>

namespace iotune::patterns {

struct Extent {
  std::int64_t offset;  // bytes from the start of the file
  std::int64_t length;  // bytes, >= 0

  friend constexpr bool operator==(const Extent&, const Extent&) noexcept = default;
};

}  // namespace iotune::patterns
