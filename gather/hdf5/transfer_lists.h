// The program's property lists for transfers: which are for independent ones, and nothing else.
#pragma once

#include "core/abi/hdf5_api.h"

namespace iotune::gather {

// Any thread. HDF5 may be asked.
bool is_independent(Hid list) noexcept;

// The same of a list that is_independent() was asked about, or that is new: asks nobody.
bool is_known_independent(Hid list) noexcept;

// The program has made the list of this class, with the default values.
void list_is_new(Hid list, Hid list_class) noexcept;
// The program is about to change a property list: what is known of it is not known any more.
void forget_list(Hid list) noexcept;

}  // namespace iotune::gather
