// The end of a parallel run: one trace for all ranks.
#pragma once

#include "core/abi/mpi_api.h"

namespace iotune::recorder {

// Collective over the world, all ranks loaded, before the real MPI_Finalize. Rank 0 receives
// every rank's blocks, one rank at a time and in pieces, and writes the trace. Returns its path on
// rank 0 when it was written, else nullptr. Afterwards the buffers count as joined on all ranks, or
// on none.
const char* gather_trace(const MpiApi& mpi) noexcept;

// A process without MPI: its own trace, by itself. Its path, or nullptr.
const char* write_own_trace() noexcept;

// Whether the trace that write_own_trace wrote holds other processes' calls as well; and those of
// this process alone as a trace at `path`, before the buffer goes. False: it could not be written.
bool trace_has_others() noexcept;
bool write_own_blocks(const char* path) noexcept;

// Whether this process writes its trace itself: neither a rank, nor forked, nor one of a launcher.
bool writes_own_trace() noexcept;

}  // namespace iotune::recorder
