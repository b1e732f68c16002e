// What a dataspace of the program selects.
#pragma once

#include "gather/hdf5/hdf5_functions.h"
#include "gather/hdf5/slabs.h"

namespace iotune::gather {

struct Selection {
  Extent extent;
  Hyperslab slab;  // within the extent
  std::uint64_t elements;
};

// False: it is no dataspace of 1 to 8 dimensions, or selects what is no regular hyperslab. Nothing
// is added to HDF5's error stack.
bool selection_of(Hid space, Selection& selection) noexcept;

// The extent of a dataspace of 1 to 8 dimensions; false: it is none.
bool extent_of(Hid space, Extent& extent) noexcept;

// Whether values of the type are all in the element itself, as a file has them: no variable length,
// no references.
bool is_plain(Hid type) noexcept;

}  // namespace iotune::gather
