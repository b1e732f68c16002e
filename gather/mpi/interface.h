// The interface between libiotune.so and libiotune-gather.so, beside that of all services
// (recorder/hooks/service.h).
#pragma once

#include <cstddef>

#include "core/abi/hdf5_api.h"
#include "core/abi/mpi_abi.h"

namespace iotune::gather {

// The MPI of the process's world.
struct GatherMpi {
  MpiConstants constants;
  MpiAbi abi;
  // A function of it by name; nullptr: it has none.
  void* (*function)(const char* name);
};

// What the library has of the preload, and what it gives back. Lives as long as the process.
struct GatherHost {
  const char* mode;  // IOTUNE_GATHER
  // One line for the user, by rank 0.
  void (*say)(const char* text);
  // Of memory, for all gathered files of this process. Asked once.
  std::size_t (*budget_bytes)();
  // A communicator of the ranks of an MPI_File_open, for it alone; 0: nothing is gathered, on all
  // of them. Collective over `comm`.
  Word (*communicator_of_open)(Word comm);
  // Whether the MPI-IO that opens `name` writes every byte right when ranks exchange them, and says
  // when it does not. Local.
  bool (*exchanges)(const char* name);

  // Of an HDF5: its number, a function by name (nullptr: it has none), the identifier of the class of
  // lists for transfers (-1: not found), and whether its objects may be another connector's.
  int (*number_of)(const Provider& hdf5);
  void* (*hdf5_function)(Provider& hdf5, const char* name);
  Hid (*transfer_class)(Provider& hdf5);
  bool (*has_other_connector)(const Provider& hdf5);

  // Filled by the library. Before the first file; the same on all ranks. False: a function is
  // missing.
  bool (*use_mpi)(const GatherMpi* mpi);
  // What is called in place of a function of MPI: `real` itself where nothing stands in front of
  // it.
  void* (*replacement)(const char* name, void* real);
  // The same of a function of HDF5.
  void* (*hdf5_replacement)(const char* name, void* real, Provider& hdf5);
};

}  // namespace iotune::gather
