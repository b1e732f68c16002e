// What dataspaces have selected, as far as the program's own calls tell. HDF5 is asked at the first
// transfer with a dataspace, which takes some ten questions; from then on each H5Sselect_hyperslab
// says what the next transfer selects.
//
// Of a dataspace that is not known, or was changed in another way, HDF5 is asked again. All calls
// that change one have wrappers; as a guard against what none sees, one use in 256 is asked for and
// compared, and nothing is believed any more after a difference.
#pragma once

#include <cstdint>

#include "core/abi/hdf5_api.h"
#include "core/link/real_function.h"
#include "recorder/ring/record_writer.h"

namespace iotune::recorder {

// Around a call that changes the selection or the extent of `space`; `only_selects`: its extent and
// its offset stay. `found`: the function that is called.
class SelectionChange {
 public:
  SelectionChange(const RealFunction& found, Hid space, bool only_selects) noexcept;
  // The call was H5Sselect_hyperslab with these arguments, and did not fail.
  void set_hyperslab(int op, const std::uint64_t* start, const std::uint64_t* stride,
                     const std::uint64_t* count, const std::uint64_t* block) const noexcept;

 private:
  const Provider* provider_;
  const Hid space_;
};

// Calls that change dataspaces have passed unseen, or identifiers may be given out again.
void forget_selections() noexcept;

// Appends what `space` has selected, as append_selections() would: number of points (only where
// `with_points`), kind, dimensions, selection. False, with nothing appended, where HDF5 has to be
// asked.
bool append_known_selection(RecordWriter& record, const Provider& provider, Hid space,
                            bool with_points) noexcept;

// The dimensions of `space`; -1: HDF5 has to be asked.
int known_dimensions(const Provider& provider, Hid space) noexcept;

// HDF5 said that `space` selects a regular hyperslab of `n` dimensions: `parts` has start, stride,
// count and block, n words each. `moved`: H5Soffset_simple has a part in start.
void keep_hyperslab(const Provider& provider, Hid space, unsigned n, const std::uint64_t* parts,
                    bool moved) noexcept;
// The same of a whole dataspace with these dimensions.
void keep_whole(const Provider& provider, Hid space, unsigned n,
                const std::uint64_t* dims) noexcept;

}  // namespace iotune::recorder
