// What a pattern is to the file system, and how far two patterns lie apart: docs/similarity.md.
#pragma once

#include <string>

#include "patterndb/store/byte_key.h"

namespace iotune::patterndb {

// One rank's share of one dataset, as it lies in the file of a contiguous layout.
struct Geometry {
  double piece_bytes = 0;  // that follow each other without a gap
  double pieces = 0;       // between which other ranks' bytes lie; 1: not interleaved
};

// False for an irregular pattern, or one without its dataset's dimensions: nothing is known of it.
bool geometry_of(const Pattern& pattern, Geometry& geometry);

// Why settings of the one mean nothing for the other, empty where a distance is defined.
std::string incomparable(const Pattern& a, const Pattern& b);

// "write independent contiguous plain parallel interleaved": patterns of equal text have a
// distance.
std::string wall_of(const Pattern& pattern, const Geometry& geometry);

// 0 for patterns that are the same to the file system; a doubling of the ranks is 1, of a piece's
// bytes or of the number of pieces 0.5. Symmetric.
double distance(const Geometry& a, std::uint64_t ranks_of_a, const Geometry& b,
                std::uint64_t ranks_of_b);

}  // namespace iotune::patterndb
