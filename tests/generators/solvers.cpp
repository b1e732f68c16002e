// BT-IO and FLASH.
#include <algorithm>
#include <stdexcept>

#include "tests/generators/applications.h"

namespace iotune::generators {

Workload btio(const BtIo& of) {
  Workload made{"BT-IO, extent " + std::to_string(of.extent),
                "HPDC 2013, 3.3: 2-d strided, one global pattern. The decomposition is that of the "
                "NAS Parallel Benchmarks: c cells a rank along a diagonal (next cell: x+1, y-1, "
                "z+1), the first cells one point larger where c does not divide the extent",
                {}};
  std::int64_t cells = 1;
  while (cells * cells < of.ranks) ++cells;
  if (cells * cells != of.ranks) throw std::invalid_argument("btio: ranks must be a square");
  constexpr std::int64_t kPointBytes = 5 * 8;
  const auto low = [&](std::int64_t cell) {
    return cell * (of.extent / cells) + std::min(cell, of.extent % cells);
  };
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    for (std::int64_t dump = 0; dump < of.dumps; ++dump) {
      std::int64_t x = rank % cells;
      std::int64_t y = rank / cells;
      for (std::int64_t z = 0; z < cells; ++z, x = (x + 1) % cells, y = (y + cells - 1) % cells) {
        const std::int64_t length = (low(x + 1) - low(x)) * kPointBytes;
        for (std::int64_t k = low(z); k < low(z + 1); ++k) {
          for (std::int64_t j = low(y); j < low(y + 1); ++j) {
            const std::int64_t row = j + of.extent * (k + of.extent * dump);
            stream.accesses.push_back({kPointBytes * (low(x) + of.extent * row), length});
          }
        }
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload flash(const Flash& of) {
  Workload made{
      "FLASH, split at 128 KiB",
      "HPDC 2013, 3.3: FUSE split large requests, which hid the pattern. 24 variables of "
      "80 blocks a rank as the FLASH-IO benchmark has; 2 KiB of HDF5's metadata before "
      "the first dataset and after each fourth: our choice, so that no dataset is aligned",
      {}};
  constexpr std::int64_t kMetadataBytes = 2048;
  const std::int64_t slab = of.blocks * of.block_bytes;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    for (std::int64_t variable = 0; variable < of.variables; ++variable) {
      const std::int64_t dataset = variable * of.ranks * slab + kMetadataBytes * (1 + variable / 4);
      std::int64_t at = dataset + rank * slab;
      const std::int64_t end = at + slab;
      while (at < end) {
        const std::int64_t boundary =
            of.split_bytes > 0 ? (at / of.split_bytes + 1) * of.split_bytes : end;
        const std::int64_t stop = std::min(boundary, end);
        stream.accesses.push_back({at, stop - at});
        at = stop;
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

}  // namespace iotune::generators
