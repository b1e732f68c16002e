#include "recorder/preload/mpi_abi.h"

#include <cstring>

namespace iotune::recorder {
namespace {

// mpi.h of MPICH 3.2 to 5 in its own ABI: handles are 32-bit integers.
constinit const MpiConstants kMpich = {
    .known = true,
    .handle_mask = 0xffffffffu,
    .comm_world = 0x44000000,
    .comm_self = 0x44000001,
    .comm_null = 0x04000000,
    .info_null = 0x1c000000,
    .byte = 0x4c00010d,
    .int64 = 0x4c00083a,
    .op_min = 0x58000002,
    .op_max = 0x58000001,
    .errors_return = 0x54000001,
    .keyval_invalid = 0x24000000,
    .undefined = -32766,
};
constinit const MpiConstants kUnknown = {};

}  // namespace

MpiAbi detect_abi(const Provider& mpi) noexcept {
  const char* const slash = std::strrchr(mpi.name, '/');
  const char* const name = slash == nullptr ? mpi.name : slash + 1;
  // MPI_Abi_get_version proves nothing: MPICH's own ABI has it too.
  if (std::strncmp(name, "libmpi_abi", 10) == 0) return MpiAbi::kStandard;
  if (provider_symbol(mpi, "ompi_mpi_comm_world") != nullptr) return MpiAbi::kOpenMpi;
  return MpiAbi::kMpich;
}

const MpiConstants& constants_of(MpiAbi abi) noexcept {
  return abi == MpiAbi::kMpich ? kMpich : kUnknown;
}

}  // namespace iotune::recorder
