// The constants of the MPIs' binary interfaces. libiotune.so includes no mpi.h: handles are
// machine words, and one table per ABI says what they mean.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi/mpi_identity.h"
#include "core/link/provider.h"

namespace iotune {

using Word = std::uintptr_t;

struct MpiConstants {
  bool known;        // false: not all of them were found; such an MPI is left alone
  Word handle_mask;  // bits of a handle that mean something
  Word comm_world, comm_self, comm_null;
  Word info_null, file_null, datatype_null;
  Word byte, int64;             // MPI_BYTE, MPI_INT64_T
  Word op_min, op_max, op_sum;  // MPI_MIN, MPI_MAX, MPI_SUM
  Word errors_return;
  int undefined;
};

// Open MPI's handles are addresses: asked of the process, and right for this provider only.
MpiConstants constants_of(MpiAbi abi, const Provider& mpi) noexcept;

// The standard ABI has integers of its own. Traces, and what iotune itself decides by, use the
// values that MPICH's and Open MPI's own ABIs have in common.
enum AccessMode : int {
  kModeCreate = 1,
  kModeReadOnly = 2,
  kModeWriteOnly = 4,
  kModeReadWrite = 8,
  kModeDeleteOnClose = 16,
  kModeUniqueOpen = 32,
  kModeExclusive = 64,
  kModeAppend = 128,
  kModeSequential = 256,
};
enum Whence : int { kSeekSet = 600, kSeekCurrent = 602, kSeekEnd = 604 };

// A value that the ABI does not define stays as it is: the call will have failed.
int common_amode(MpiAbi abi, int amode) noexcept;
int common_whence(MpiAbi abi, int whence) noexcept;
// MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE as 0 to 3.
int common_thread_level(MpiAbi abi, int level) noexcept;

// Constants of messages. Traces, and what iotune itself decides by, have MPICH's values.
enum CommonRank : int { kProcNull = -1, kAnySource = -2, kRoot = -3 };
inline constexpr int kAnyTag = -1;
int common_rank(MpiAbi abi, int rank) noexcept;
int common_tag(MpiAbi abi, int tag) noexcept;

// What stands where in a status, and what programs pass where they want none.
struct StatusLayout {
  std::uintptr_t ignored;  // MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  std::uint8_t bytes, source, tag;
  std::int8_t any_source;  // the source of an empty status
};
const StatusLayout& status_layout(MpiAbi abi) noexcept;
// Of a request or any other handle but MPI_File.
constexpr std::size_t handle_bytes(MpiAbi abi) noexcept {
  return abi == MpiAbi::kMpich ? 4 : sizeof(Word);
}

// How a datatype was made (MPI_Type_get_envelope).
enum class Combiner : std::uint8_t {
  kUnknown,
  kNamed,
  kDup,
  kContiguous,
  kVector,
  kHvector,
  kIndexed,
  kHindexed,
  kIndexedBlock,
  kHindexedBlock,
  kStruct,
  kSubarray,
  kDarray,
  kF90,  // of MPI_Type_create_f90_*: predefined, too
  kResized,
};
Combiner combiner_of(MpiAbi abi, int combiner) noexcept;

// Among the contents of subarray and darray.
struct ArrayIntegers {
  int order_fortran;
  int distribute_block, distribute_cyclic, distribute_none, default_argument;
};
ArrayIntegers array_integers(MpiAbi abi) noexcept;

}  // namespace iotune
