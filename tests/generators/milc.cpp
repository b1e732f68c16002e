// MILC, lattice quantum chromodynamics: three ways to save the same lattice.
#include "tests/generators/applications.h"

namespace iotune::generators {
namespace {

constexpr std::uint32_t kRanks = 16;  // 2 × 2 × 2 × 2

// One contiguous portion a rank, after the header.
void append_portion(Stream& stream, const Milc& of) {
  const std::int64_t sites = of.extent * of.extent * of.extent * of.extent;
  const std::int64_t piece = sites * of.site_bytes / kRanks / of.portion_writes;
  for (std::int64_t k = 0; k < of.portion_writes; ++k) {
    const std::int64_t place = stream.rank * of.portion_writes + k;
    stream.accesses.push_back({of.header_bytes + place * piece, piece});
  }
}

}  // namespace

Workload milc_a(const Milc& of) {
  Workload made{
      "MILC A",
      "HPDC 2013, figure 16 A: small writes of one size, 2-d strided, rate 37.0. Lattice "
      "and grid of ranks are our choice: L = 16 over 2x2x2x2 gives that rate; 288 bytes a site "
      "are four 3x3 complex matrices in single precision",
      {}};
  const std::int64_t half = of.extent / 2;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::int64_t x0 = (rank & 1U) != 0 ? half : 0;
    const std::int64_t y0 = (rank & 2U) != 0 ? half : 0;
    const std::int64_t z0 = (rank & 4U) != 0 ? half : 0;
    const std::int64_t t0 = (rank & 8U) != 0 ? half : 0;
    Stream stream{rank, {}};
    for (std::int64_t t = t0; t < t0 + half; ++t) {
      for (std::int64_t z = z0; z < z0 + half; ++z) {
        for (std::int64_t y = y0; y < y0 + half; ++y) {
          const std::int64_t site = x0 + of.extent * (y + of.extent * (z + of.extent * t));
          stream.accesses.push_back({of.header_bytes + of.site_bytes * site, of.site_bytes * half});
        }
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload milc_b(const Milc& of) {
  Workload made{"MILC B",
                "HPDC 2013, figure 16 B: one contiguous portion a process, rate 3.0. A rate that "
                "low needs about one write a rank (16 global ids of 12 bytes in one entry: 2.8)",
                {}};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    made.streams.push_back({rank, {}});
    append_portion(made.streams.back(), of);
  }
  return made;
}

Workload milc_c(const Milc& of) {
  Workload made{"MILC C",
                "HPDC 2013, figure 16 C: as B, and each process writes a header at the beginning "
                "of the file, rate 3.6",
                {}};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    made.streams.push_back({rank, {{0, of.header_bytes}}});
    append_portion(made.streams.back(), of);
  }
  return made;
}

}  // namespace iotune::generators
