// Streams that a table of few steps does not hold: long loops, sequences in turn, lists of places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "patterns/extent.h"

namespace iotune::bench {

struct ManySteps {
  std::string name;
  std::vector<patterns::Extent> accesses;
  // Of these nobody can know: the first round of a loop or list, two of each sequence.
  std::size_t unknown = 0;
};

// Loops of 5 to 1,000 steps, 200 times each; 4 to 16 sequences in turn, and in bursts of 2 to 32; a
// list of 5,000 places, 20 times. Drawn from `seed`.
std::vector<ManySteps> many_steps(std::uint64_t seed);

}  // namespace iotune::bench
