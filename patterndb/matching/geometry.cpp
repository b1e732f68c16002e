#include "patterndb/matching/geometry.h"

#include <cmath>

namespace iotune::patterndb {

using analyzer::DimensionPattern;
using analyzer::Distribution;

bool geometry_of(const Pattern& pattern, Geometry& geometry) {
  const auto& dimensions = pattern.descriptor.dimensions;
  const std::size_t n = dimensions.size();
  if (n == 0 || pattern.dataset_dims.size() != n || pattern.element_bytes == 0) return false;
  double piece = static_cast<double>(pattern.element_bytes), pieces = 1;
  bool whole = true;  // all inner dimensions are held in full
  for (std::size_t i = n; i-- > 0;) {
    const DimensionPattern& dimension = dimensions[i];
    const double held = static_cast<double>(dimension.count);
    if (dimension.distribution == Distribution::kIrregular || held <= 0) return false;
    if (!whole) {
      pieces *= held;
    } else if (dimension.count >= pattern.dataset_dims[i]) {
      piece *= held;
    } else if (dimension.distribution == Distribution::kCyclic ||
               dimension.distribution == Distribution::kCyclicK) {
      const double run = std::min(static_cast<double>(dimension.cyclic_block), held);
      piece *= run;
      pieces *= held / run;
      whole = false;
    } else {
      piece *= held;
      whole = false;
    }
  }
  geometry = {piece, pieces};
  return true;
}

std::string incomparable(const Pattern& a, const Pattern& b) {
  if (a.write != b.write) return "one is read, the other written";
  if (a.mode != b.mode) return "one is " + a.mode + ", the other " + b.mode;
  if (a.chunk.empty() != b.chunk.empty()) return "only one of them is chunked";
  if ((a.filters > 0) != (b.filters > 0)) return "only one of them is compressed";
  if ((a.ranks > 1) != (b.ranks > 1)) return "only one of them is parallel";
  Geometry ga, gb;
  if (!geometry_of(a, ga) || !geometry_of(b, gb)) return "one of them is irregular";
  if ((ga.pieces > 1) != (gb.pieces > 1)) return "only one of them is interleaved";
  return "";
}

std::string wall_of(const Pattern& pattern, const Geometry& geometry) {
  std::string wall = pattern.write ? "write " : "read ";
  wall += pattern.mode;
  wall += pattern.chunk.empty() ? " contiguous" : " chunked";
  wall += pattern.filters > 0 ? " compressed" : " plain";
  wall += pattern.ranks > 1 ? " parallel" : " serial";
  return wall + (geometry.pieces > 1 ? " interleaved" : " whole");
}

double distance(const Geometry& a, std::uint64_t ranks_of_a, const Geometry& b,
                std::uint64_t ranks_of_b) {
  const auto doublings = [](double x, double y) { return std::fabs(std::log2(x / y)); };
  return doublings(static_cast<double>(ranks_of_a), static_cast<double>(ranks_of_b)) +
         0.5 * doublings(a.piece_bytes, b.piece_bytes) + 0.5 * doublings(a.pieces, b.pieces);
}

}  // namespace iotune::patterndb
