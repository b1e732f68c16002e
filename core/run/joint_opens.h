// Ranks that speak to each other within one MPI_File_open.
#pragma once

#include "core/abi/mpi_api.h"
#include "core/run/presence.h"

namespace iotune {

// A communicator of the ranks of an open of `comm`, for `service` alone, which frees it. 0 on all
// of them: not all ranks of the world run the service, or `comm` is none of several of its ranks.
// Collective over `comm`.
Word communicator_of_open(const MpiApi& mpi, Word comm, JointService service) noexcept;

}  // namespace iotune
