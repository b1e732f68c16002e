// What a generator returns: the accesses that a parallel program makes to one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "patterns/extent.h"

namespace iotune::generators {

// The accesses of one rank, in the order in which it makes them.
struct Stream {
  std::uint32_t rank;
  std::vector<patterns::Extent> accesses;
};

struct Workload {
  std::string name;
  std::string basis;  // where shape and sizes come from, and what is our choice
  std::vector<Stream> streams;

  std::size_t accesses() const noexcept {
    std::size_t sum = 0;
    for (const Stream& stream : streams) sum += stream.accesses.size();
    return sum;
  }
};

}  // namespace iotune::generators
