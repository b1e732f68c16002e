// The interface between libiotune.so and libiotune-gather.so, beside that of all services
// (recorder/hooks/service.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi/hdf5_api.h"
#include "core/abi/mpi_abi.h"
#include "gather/held/view.h"

namespace iotune::gather {

// The MPI of the process's world.
struct GatherMpi {
  MpiConstants constants;
  MpiAbi abi;
  // A function of it by name; nullptr: it has none.
  void* (*function)(const char* name);
};

// Of one rank and one file (docs/explain/gather.md, "In the trace").
struct GatherCounts {
  std::uint64_t held_calls, held_bytes;
  std::uint64_t reads_served;                    // out of what is held
  std::uint64_t flushes;                         // collective calls that let something out
  std::uint64_t exchange_calls, exchange_bytes;  // collective writes, and this rank's part
  std::uint64_t piece_writes, piece_bytes;       // in a flush, by this rank piece by piece
  std::uint64_t alone_writes, alone_bytes;       // outside of a flush
  std::uint64_t waiting_bytes;                   // held still
};
struct GatherNote {
  const char* file;              // as the program names it
  const char* reason;            // "": what was held. Else why something was not held
  std::uint64_t calls_not_held;  // for that reason; 0: nothing of the file is held
  GatherCounts counts;
};

// What the library has of the preload, and what it gives back. Lives as long as the process.
struct GatherHost {
  const char* mode;  // IOTUNE_GATHER
  // Files are gathered only where a stored answer says so: that is what was asked for, or the site
  // freezes what is set.
  bool needs_answer;
  // One line for the user, by rank 0.
  void (*say)(const char* text);
  // Into the trace, where there is one.
  void (*note)(const GatherNote& note);
  // Of memory, for all gathered files of this process. Asked once.
  std::size_t (*budget_bytes)();
  // A communicator of the ranks of an MPI_File_open, for it alone; 0: nothing is gathered, on all
  // of them. Collective over `comm`.
  Word (*communicator_of_open)(Word comm);
  // Whether the MPI-IO that opens `name` writes every byte right when ranks exchange them, and says
  // when it does not. Local.
  bool (*exchanges)(const char* name);
  // False where the hints of `file` have collective writes put in wrong places. Local.
  bool (*joins_rightly)(Word file);
  // Whether `type` is one of MPI's own, of MPI's world. Local.
  bool (*is_predefined)(Word type);
  // What `filetype` selects, each loop by `add`, in the order of the type. False: that is not known
  // to its end. Local.
  bool (*loops_of)(Word filetype, void* to, void (*add)(void* to, const PieceLoop& loop));
  // Whether `info` asks for it, as a stored answer does.
  bool (*has_answer)(Word info);

  // Of an HDF5: its number, a function by name (nullptr: it has none), the identifier of the class
  // of lists for transfers (-1: not found), and whether its objects may be another connector's.
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
