// What gathering of MPI's and of HDF5's files have in common in this process.
#pragma once

#include "gather/held/budget.h"
#include "gather/mpi/interface.h"

namespace iotune::gather {

// Set before the program runs.
extern const GatherHost* g_gather;

// The memory of all files. From the first one on.
Budget& own_budget() noexcept;

// From now on what is held is written at the process's exit, before the handlers that the MPI
// library and HDF5 have registered so far.
void write_out_at_exit() noexcept;

}  // namespace iotune::gather
