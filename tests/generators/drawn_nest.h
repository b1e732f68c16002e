// Nests that nobody looked at before: for claims about the general case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/generators/workload.h"

namespace iotune::generators {

struct NestLoop {
  std::int64_t count;
  std::int64_t stride_bytes;  // may be negative or zero
};

// One nest as every rank runs it, moved by rank · rank_stride_bytes.
struct Nest {
  std::vector<NestLoop> loops;         // outermost first, 1 to 5
  std::vector<patterns::Extent> body;  // 1 to 3 accesses, offsets from the innermost iteration's
  std::int64_t start_bytes;
  std::int64_t rank_stride_bytes;
};

struct DrawnNest {
  std::uint32_t ranks;      // 1 to 32
  std::vector<Nest> nests;  // more than one: interleaved in each stream
  double noise_percent;     // 0 to 2
  std::size_t turn;         // accesses of one nest before it is the next one's turn

  bool interleaved() const noexcept { return nests.size() > 1; }
  std::size_t depth() const noexcept;  // of the deepest
  std::string text() const;            // one line
};

// The same seed gives the same nest on every machine. A quarter is interleaved, a quarter noisy;
// a rank makes some 200 to 20,000 accesses. Offsets are never negative.
DrawnNest draw_nest(std::uint64_t seed);
Workload expand(const DrawnNest& of, std::uint64_t seed);

inline Workload drawn_nest(std::uint64_t seed) {
  return expand(draw_nest(seed), seed);
}

}  // namespace iotune::generators
