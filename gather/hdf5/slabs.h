// Parts of a dataset: as HDF5 selects them, and as pieces of its elements in row-major order. No
// HDF5, no I/O. Offsets and lengths are in elements, or in bytes where the name says so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gather/held/pieces.h"

namespace iotune::gather {

inline constexpr unsigned kMostDimensions = 8;

// The extent of a dataspace.
struct Extent {
  unsigned n = 0;
  std::uint64_t dims[kMostDimensions] = {};

  bool operator==(const Extent& other) const noexcept;
  // 0 where one of them is 0; UINT64_MAX where they are too many for 63 bits.
  std::uint64_t elements() const noexcept;
};

// A regular hyperslab of H5Sselect_hyperslab.
struct Hyperslab {
  std::uint64_t start[kMostDimensions], stride[kMostDimensions];
  std::uint64_t count[kMostDimensions], block[kMostDimensions];

  // Within the extent, and without overlapping blocks.
  bool fits(const Extent& extent) const noexcept;
  std::uint64_t elements(unsigned n) const noexcept;
};

Hyperslab whole(const Extent& extent) noexcept;

// The pieces of a hyperslab that fits, ascending: each is contiguous in row-major order, and as
// long as its last dimensions allow.
class SlabPieces {
 public:
  SlabPieces(const Extent& extent, const Hyperslab& slab) noexcept;

  // The length of every piece, and their number.
  std::uint64_t elements() const noexcept { return elements_; }
  std::uint64_t count() const noexcept { return count_; }
  // The next piece's offset; called at most count() times.
  std::uint64_t next() noexcept;

 private:
  struct Level {
    std::uint64_t at, blocks;         // the element within a block, the block
    std::uint64_t in_block, in_slab;  // how many of them
    std::uint64_t step, jump;         // to the next element, from a block's last to the next block
  };
  Level levels_[kMostDimensions];
  unsigned used_ = 0;
  std::uint64_t offset_ = 0, elements_ = 1, count_ = 1;
};

// The hyperslabs that together are `pieces` of a dataset whose elements are of `element_bytes`
// bytes: their points in row-major order, one hyperslab after the other, are the pieces' elements.
// Throws std::bad_alloc.
std::vector<Hyperslab> slabs_of(const Extent& extent, std::uint64_t element_bytes,
                                std::span<const Run> pieces);

}  // namespace iotune::gather
