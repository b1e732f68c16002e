// Which way HDF5 takes to a file: its own connector (VOL) and a driver that is known here, or one
// that is left alone.
#pragma once

#include "core/abi/hdf5_api.h"

namespace iotune::tuner {

// Of a file access list, before an open with it. False also where it is not known.
bool has_native_connector(const Hdf5Api& api, Hid fapl) noexcept;

// The list to start from where the file is opened by HDF5's own connector and its driver for one
// process, sec2: a copy of the program's list, or a fresh one for H5P_DEFAULT. The caller closes
// it. -1 for any other file, which is left alone; both may come by environment too.
Hid serial_list(Provider& hdf5, const Hdf5Api& api, Hid fapl) noexcept;

}  // namespace iotune::tuner
