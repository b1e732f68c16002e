// The one interface between libiotune.so and libiotune-gather.so. Both are built together; the
// version tells a library that was left behind by another build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi/mpi_abi.h"

namespace iotune::gather {

inline constexpr std::uint32_t kGatherInterfaceVersion = 1;

// What the library has of the preload. Lives as long as the process.
struct GatherHost {
  std::uint32_t version;
  // Of memory, for all gathered files of this process. Asked once.
  std::size_t (*budget_bytes)();
  // One line for the user, by rank 0.
  void (*say)(const char* text);
  // A communicator of the ranks of an MPI_File_open, for it alone; 0: nothing is gathered, on all
  // of them. Collective over `comm`.
  Word (*communicator_of_open)(Word comm);
  // Whether the MPI-IO that opens `name` writes every byte right when ranks exchange them, and says
  // when it does not. Local.
  bool (*exchanges)(const char* name);
};

// The MPI of the process's world.
struct GatherMpi {
  MpiConstants constants;
  MpiAbi abi;
  // A function of it by name; nullptr: it has none.
  void* (*function)(const char* name);
};

struct GatherHooks {
  // Before the first file; the same on all ranks. False: a function is missing.
  bool (*use_mpi)(const GatherMpi* mpi);
  // What is called in place of a function of MPI: `real` itself where nothing stands in front of
  // it.
  void* (*replacement)(const char* name, void* real);
};

extern "C" {
// Once, by the constructor. False: nothing is gathered; what is wrong has been said.
bool iotune_gather_install(const GatherHost* host, GatherHooks* hooks) noexcept;
}

}  // namespace iotune::gather
