// Which MPI a library is, by what it says of itself.
#pragma once

#include "core/link/provider.h"

namespace iotune {

// What an MPI is, by what it says of itself (MPI_Get_library_version). Only those are known whose
// ABI is: an unknown one may have other handles and other constants under the same names.
struct MpiIdentity {
  bool known;
  MpiAbi abi;
  // Its own name and number, of what is built on MPICH also MPICH's where it tells that:
  // "MPICH 4.0.2", "Open MPI v4.1.4", "Cray MPICH 8.1.25 (MPICH 3.4a2)", "Intel MPI 2021.8".
  char version[64];
};
MpiIdentity identify_mpi(const char* library_version, const char* soname,
                         bool has_open_mpi_objects) noexcept;

}  // namespace iotune
