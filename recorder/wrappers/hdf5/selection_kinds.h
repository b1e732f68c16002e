// The kinds of selections in a trace (FORMAT.md, "Extras of H5Dread and H5Dwrite").
#pragma once

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

}  // namespace iotune::recorder
