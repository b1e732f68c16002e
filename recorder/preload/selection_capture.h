// What a transfer selects, as the program asked for it, before HDF5 splits it.
#pragma once

#include "recorder/preload/hdf5_api.h"
#include "recorder/preload/record_writer.h"

namespace iotune::recorder {

// Appends selection kind, number of dimensions and the selection (FORMAT.md, "Extras of
// H5Dread and H5Dwrite"), preceded by the number of points. `file_space` 0 is H5S_ALL.
void append_selection(const Hdf5Api& api, RecordWriter& record, Hid dataset,
                      Hid file_space) noexcept;

// For a call that failed: nothing may be asked, the error stack is the program's.
void append_unknown_selection(RecordWriter& record) noexcept;

}  // namespace iotune::recorder
