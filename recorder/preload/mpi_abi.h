// The constants of the MPIs' binary interfaces. libiotune.so includes no mpi.h: handles are
// machine words, and one table per ABI says what they mean.
#pragma once

#include <cstdint>

#include "recorder/preload/real_function.h"

namespace iotune::recorder {

using Word = std::uintptr_t;

enum class MpiAbi : std::uint8_t { kMpich, kOpenMpi, kStandard };

struct MpiConstants {
  bool known;        // false: a row that is not filled yet; such an MPI is left alone
  Word handle_mask;  // bits of a handle that mean something
  Word comm_world, comm_self, comm_null;
  Word info_null;
  Word byte, int64;     // MPI_BYTE, MPI_INT64_T
  Word op_min, op_max;  // MPI_MIN, MPI_MAX
  Word errors_return;
  int keyval_invalid;
  int undefined;
};

MpiAbi detect_abi(const Provider& mpi) noexcept;
const MpiConstants& constants_of(MpiAbi abi) noexcept;

}  // namespace iotune::recorder
