// Which MPI-IO an Open MPI uses, because its MPI_File_get_info returns what it was given whether
// or not anybody reads it, and which of its parameters a hint of ours would win over.
#pragma once

#include "core/abi/mpi_api.h"

namespace iotune::tuner {

enum class OpenMpiIo : std::uint8_t { kUnknown, kOmpio, kRomio };

// As its parameter `io` says, wherever that was set; where it was not, Open MPI takes ROMIO on
// Lustre and OMPIO elsewhere. From version 6 on there is OMPIO alone. Local.
OpenMpiIo openmpi_io(const MpiApi& mpi, const char* path) noexcept;

// The same by its name in patterndb/settings/proven_table.h, for the MPI of the program's world;
// nullptr where it is not known.
const char* name_of_openmpi_io(const char* path) noexcept;

// Which of its parameters (MCA) say the same as some hint and have another value than by default,
// wherever the user or the site set them: ~/.openmpi/mca-params.conf, the site's own, the
// environment, mpirun. Local, but asked on one rank for all, because all of MPI's components are
// loaded for it.
unsigned own_parameters(const MpiApi& mpi) noexcept;
bool parameters_name(unsigned parameters, const char* hint) noexcept;

// Whether hints of MPI_File_open reach its ROMIO: those of version 5 do not (seen with 5.0.8 and
// 5.0.11; ROMIO_HINTS does).
bool romio_gets_hints(const char* mpi_version) noexcept;

// Hints that OMPIO reads.
bool ompio_reads(const char* hint) noexcept;

// Whether MPI_File_get_info of this MPI ("Open MPI v6.0.0") returns the hints that are in use, and
// no others; before version 6 it returns what it was given.
bool reports_hints_in_use(const char* mpi_version) noexcept;

}  // namespace iotune::tuner
