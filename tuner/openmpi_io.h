// Which MPI-IO an Open MPI uses, because its MPI_File_get_info returns what it was given whether
// or not anybody reads it.
#pragma once

#include "recorder/preload/mpi_api.h"

namespace iotune::tuner {

enum class OpenMpiIo : std::uint8_t { kUnknown, kOmpio, kRomio };

// As its parameter `io` says, wherever that was set; where it was not, Open MPI takes ROMIO on
// Lustre and OMPIO elsewhere. Local.
OpenMpiIo openmpi_io(const recorder::MpiApi& mpi, const char* path) noexcept;

// Hints that OMPIO reads.
bool ompio_reads(const char* hint) noexcept;

}  // namespace iotune::tuner
