// Pieces cut at the ends of ranges.
#pragma once

#include <span>
#include <vector>

#include "gather/held/pieces.h"
#include "gather/held/view.h"

namespace iotune::gather {

// What of the pieces lies within one range.
struct Part {
  std::vector<Run> runs;
  std::size_t at = 0, bytes = 0, pieces = 0;
  // Its bytes lie one behind the other. Not where a large piece was taken out of its midst.
  bool in_one = true;
};

struct SplitPieces {
  std::vector<Part> parts;  // one a range
  std::vector<Run> others;  // outside of all ranges
};

// `ranges`: ascending, none overlaps another. Throws std::bad_alloc.
SplitPieces split(const Ascending& pieces, std::span<const Range> ranges);

// Takes runs of pieces of at least so many bytes out of `pieces`, in whose memory the bytes stay.
// Throws std::bad_alloc, and has changed nothing.
std::vector<Run> take_large(Ascending& pieces, std::int64_t least_bytes);

}  // namespace iotune::gather
