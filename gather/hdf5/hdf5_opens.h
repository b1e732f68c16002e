// Files and datasets of HDF5 as the program opens and closes them.
#pragma once

#include <atomic>

#include "gather/hdf5/gathered_hdf5_file.h"

namespace iotune::gather {

// How many files are gathered.
extern std::atomic<int> g_open_files;

// Right after an H5Fcreate or H5Fopen of `name` with the list `access`, which gave `file` or failed
// here. It is gathered from now on where that may be; all ranks of a parallel open come here, and
// agree. HDF5's error stack stays.
struct Hdf5Open {
  const char* name;
  Hid file, access;
  bool writes;  // and nobody else reads at the same time
};
void gather_hdf5_file(Provider& hdf5, const Hdf5Open& open) noexcept;

// HDF5 has closed it. Within a Turn.
void forget_hdf5_file(GatheredHdf5File* file) noexcept;

// The program has opened this dataset.
void gather_dataset(Hid dataset) noexcept;

// The identifier of an object's file.
Hid file_of_object(Hid object) noexcept;

}  // namespace iotune::gather
