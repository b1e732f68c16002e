// The program's property lists for transfers: which are for independent ones, and nothing else.
#pragma once

#include "core/abi/hdf5_api.h"

namespace iotune::gather {

// Before a write with the list, by any thread. HDF5 may be asked.
bool writes_independently(Hid list) noexcept;
// Whether it was asked for one, and the list was for independent transfers.
bool was_written_with(Hid list) noexcept;

// The program has made the list of this class, with the default values.
void list_is_new(Hid list, Hid list_class) noexcept;
// The program is about to change a property list: what is known of it is not known any more.
void forget_list(Hid list) noexcept;

}  // namespace iotune::gather
