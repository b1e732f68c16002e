#include "core/abi/mpi_abi.h"

#include "core/link/real_function.h"

namespace iotune {
namespace {

constinit const MpiConstants kMpich = {
    .known = true,
    .handle_mask = 0xffffffffu,  // handles are 32-bit integers
    .comm_world = 0x44000000,
    .comm_self = 0x44000001,
    .comm_null = 0x04000000,
    .info_null = 0x1c000000,
    .file_null = 0,
    .datatype_null = 0x0c000000,
    .byte = 0x4c00010d,
    .int64 = 0x4c00083a,
    .op_min = 0x58000002,
    .op_max = 0x58000001,
    .op_sum = 0x58000003,
    .errors_return = 0x54000001,
    .undefined = -32766,
};

// The predefined handles of MPI 5.0's ABI are small numbers in pointers.
constinit const MpiConstants kStandard = {
    .known = true,
    .handle_mask = ~Word{0},
    .comm_world = 0x101,
    .comm_self = 0x102,
    .comm_null = 0x100,
    .info_null = 0x130,
    .file_null = 0x118,
    .datatype_null = 0x200,
    .byte = 0x247,
    .int64 = 0x258,
    .op_min = 0x22,
    .op_max = 0x23,
    .op_sum = 0x21,
    .errors_return = 0x143,
    .undefined = -32766,
};

// Where the library itself finds one of its objects. A program's copy relocation may have moved the
// object into the program, and the one in the library is then a dead original.
bool find_object(const Provider& mpi, const char* name, Word& handle) noexcept {
  void* object = program_symbol(name);
  if (object == nullptr) object = provider_symbol(mpi, name);
  handle = reinterpret_cast<Word>(object);
  return object != nullptr;
}

MpiConstants open_mpi_constants(const Provider& mpi) noexcept {
  MpiConstants found{};
  const struct {
    const char* name;
    Word& handle;
  } objects[] = {
      {"ompi_mpi_comm_world", found.comm_world},
      {"ompi_mpi_comm_self", found.comm_self},
      {"ompi_mpi_comm_null", found.comm_null},
      {"ompi_mpi_info_null", found.info_null},
      {"ompi_mpi_file_null", found.file_null},
      {"ompi_mpi_datatype_null", found.datatype_null},
      {"ompi_mpi_byte", found.byte},
      {"ompi_mpi_int64_t", found.int64},
      {"ompi_mpi_op_min", found.op_min},
      {"ompi_mpi_op_max", found.op_max},
      {"ompi_mpi_op_sum", found.op_sum},
      {"ompi_mpi_errors_return", found.errors_return},
  };
  found.known = true;
  for (const auto& object : objects) {
    found.known = find_object(mpi, object.name, object.handle) && found.known;
  }
  found.handle_mask = ~Word{0};
  found.undefined = -32766;
  return found;
}

struct Meaning {
  int own, common;
};

constexpr Meaning kAmodes[] = {
    {1, kModeAppend},      {2, kModeCreate},       {4, kModeDeleteOnClose},
    {8, kModeExclusive},   {16, kModeReadOnly},    {32, kModeReadWrite},
    {64, kModeSequential}, {128, kModeUniqueOpen}, {256, kModeWriteOnly},
};
constexpr int kAllAmodes = 511;

}  // namespace

MpiConstants constants_of(MpiAbi abi, const Provider& mpi) noexcept {
  if (abi == MpiAbi::kOpenMpi) return open_mpi_constants(mpi);
  return abi == MpiAbi::kStandard ? kStandard : kMpich;
}

int common_amode(MpiAbi abi, int amode) noexcept {
  if (abi != MpiAbi::kStandard) return amode;
  int common = amode & ~kAllAmodes;
  for (const Meaning& bit : kAmodes) common |= (amode & bit.own) != 0 ? bit.common : 0;
  return common;
}

int common_whence(MpiAbi abi, int whence) noexcept {
  if (abi != MpiAbi::kStandard) return whence;
  constexpr Meaning kWhences[] = {{401, kSeekCurrent}, {402, kSeekEnd}, {403, kSeekSet}};
  for (const Meaning& value : kWhences) {
    if (whence == value.own) return value.common;
  }
  return whence;
}

int common_thread_level(MpiAbi abi, int level) noexcept {
  if (abi != MpiAbi::kStandard) return level;
  constexpr Meaning kLevels[] = {{0, 0}, {1024, 1}, {2048, 2}, {4096, 3}};
  for (const Meaning& value : kLevels) {
    if (level == value.own) return value.common;
  }
  return level;
}

int common_rank(MpiAbi abi, int rank) noexcept {
  constexpr Meaning kOfOpenMpi[] = {{-1, kAnySource}, {-2, kProcNull}, {-4, kRoot}};
  constexpr Meaning kOfStandard[] = {{-1, kAnySource}, {-3, kProcNull}, {-4, kRoot}};
  if (rank >= 0 || abi == MpiAbi::kMpich) return rank;
  for (const Meaning& value : abi == MpiAbi::kOpenMpi ? kOfOpenMpi : kOfStandard) {
    if (rank == value.own) return value.common;
  }
  return rank;
}

int common_tag(MpiAbi abi, int tag) noexcept {
  return abi == MpiAbi::kStandard && tag == -2 ? kAnyTag : tag;
}

const StatusLayout& status_layout(MpiAbi abi) noexcept {
  static constexpr StatusLayout kOfMpich{1, 20, 8, 12, -2};
  static constexpr StatusLayout kOfOpenMpi{0, 24, 0, 4, -1};
  static constexpr StatusLayout kOfStandard{0, 32, 0, 4, -1};
  if (abi == MpiAbi::kOpenMpi) return kOfOpenMpi;
  return abi == MpiAbi::kStandard ? kOfStandard : kOfMpich;
}

Combiner combiner_of(MpiAbi abi, int combiner) noexcept {
  using enum Combiner;
  // MPICH's from 1 on, with three of Fortran's that MPI 3 took away; Open MPI's are one less.
  static constexpr Combiner kOwn[] = {
      kUnknown, kNamed,   kDup,      kContiguous,   kVector,  kUnknown,      kHvector,
      kIndexed, kUnknown, kHindexed, kIndexedBlock, kUnknown, kStruct,       kSubarray,
      kDarray,  kF90,     kF90,      kF90,          kResized, kHindexedBlock};
  static constexpr Combiner kOfStandard[] = {
      kUnknown, kNamed,    kDup,          kContiguous,    kVector, kHvector,
      kIndexed, kHindexed, kIndexedBlock, kHindexedBlock, kStruct, kSubarray,
      kDarray,  kF90,      kF90,          kF90,           kResized};
  if (abi == MpiAbi::kStandard) {
    const int i = combiner - 100;
    return i > 0 && i <= 16 ? kOfStandard[i] : kUnknown;
  }
  const int i = abi == MpiAbi::kOpenMpi ? combiner + 1 : combiner;
  return i > 0 && i <= 19 ? kOwn[i] : kUnknown;
}

ArrayIntegers array_integers(MpiAbi abi) noexcept {
  switch (abi) {
    case MpiAbi::kOpenMpi:
      return {1, 0, 1, 2, -1};
    case MpiAbi::kStandard:
      return {15, 17, 18, 16, 19};
    default:
      return {57, 121, 122, 123, -49767};
  }
}

}  // namespace iotune
