// What makes a clean pattern hard: noise, several streams in one, no pattern at all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/generators/workload.h"

namespace iotune::generators {

// Before each access, with a chance of `percent` in a hundred, one more at a random place below the
// end of the file, 1 byte to 64 KiB long. The accesses of `of` all stay, in their order.
Workload with_noise(Workload of, double percent, std::uint64_t seed);

// Each `ways` following streams as one, which takes `turn` accesses of each in turn until all are
// used up: what a trace shows that does not tell files, descriptors or threads apart. It has the
// rank of the first.
Workload interleaved(const Workload& of, std::size_t ways, std::size_t turn = 1);

// The same with the next stream drawn for each access.
Workload interleaved_at_random(const Workload& of, std::size_t ways, std::uint64_t seed);

struct Random {
  std::uint32_t ranks = 1;
  std::int64_t accesses = 100000;  // a rank
  std::int64_t file_bytes = std::int64_t{1} << 40;
  std::int64_t length_limit_bytes = 1 << 20;  // lengths from 1 to this
  std::uint64_t seed = 1;
};
Workload random_accesses(const Random& = {});

}  // namespace iotune::generators
