// The kinds of selections in a trace (FORMAT.md, "Extras of H5Dread and H5Dwrite").
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::recorder {

enum SelectionKind : std::int64_t {
  kUnknown = -1,
  kNothing = 0,
  kAll = 1,
  kRegular = 2,
  kBlocks = 3,
  kPoints = 4,
  kTooLarge = 5,
  // In memory only.
  kAsInFile = 6,
  kOneBlock = 7
};

// How many points n dimensions have.
inline std::uint64_t product(const std::uint64_t* values, std::size_t n) noexcept {
  std::uint64_t result = 1;
  for (std::size_t d = 0; d < n; ++d) result *= values[d];
  return result;
}

}  // namespace iotune::recorder
