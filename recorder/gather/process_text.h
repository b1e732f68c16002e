// The PROCESS block's text: who this process is.
#pragma once

#include "core/os/short_text.h"
#include "core/os/ticks.h"

namespace iotune::recorder {

using ProcessText = ShortText<12288>;

// One at a time: it uses memory of its own and little of the stack, because the first traced
// open may happen on a signal's or a user-level thread's small one.
void describe_process(ProcessText& text, const ClockReading& first, TickRate rate) noexcept;

// What MPI_Init returned; also added to a buffer that exists already. `rank_from`: the launcher's
// variable where there is no MPI_COMM_WORLD, else nullptr; kept as it is.
void set_world(int rank, int size, const char* mpi, const char* rank_from) noexcept;

// The version of the HDF5 that the program uses ("1.10.8"), from its first traced file on.
void set_hdf5_version(unsigned major, unsigned minor, unsigned release) noexcept;
const char* hdf5_version() noexcept;
// The file of that HDF5: a replay is to go through the very same. Before set_hdf5_version().
void set_hdf5_library(const char* path) noexcept;
// Whether the program has begun MPI, by MPI_Init or a session.
bool uses_mpi() noexcept;
int world_rank() noexcept;
int world_size() noexcept;

}  // namespace iotune::recorder
