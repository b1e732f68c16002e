// What libiotune.so and libiotune-logstore.so give to each other, beside the interface of all
// services (recorder/hooks/service.h), whose version grows with it.
#pragma once

#include <cstddef>

namespace iotune::logstore {

// The call on an MPI file that a thread is in (core/abi/mpi_file_mark.h).
struct MpiCall {
  bool is_running;
  const char* name;  // nullptr: of a file that is open
  int ranks;         // that open the file; 0: it is no open
};

// A container that this rank has opened together with others, from MPI_File_open to MPI_File_close
// (loader/joint_close.h). All but the first two get what `opened` gave, and the numbers are 0 or
// -errno.
struct ClosingCalls {
  // Around the open of this thread. opened: nullptr where it was of no container.
  void (*begin_open)();
  void* (*opened)();
  // The steps to an ordinary file (logstore/flat/flatten.h), by all ranks or the one that leads.
  // ready: 0 where this rank has done its part. begin: -EBUSY where somebody has it open still.
  int (*ready)(void* file);
  int (*begin)(void* file);
  int (*copy)(void* file, int rank, int ranks);
  int (*end)(void* file, bool is_whole);
  // A line for the user: it stays a container.
  void (*say_why)(void* file, int wrong);
  void (*forget)(void* file, bool is_flat);
};

// What the library has of the preload. Texts live as long as the process.
struct LogStoreHost {
  const char* prefixes;  // IOTUNE_LOGSTORE
  void (*say)(const char* text);
  // What `text` tells of concerns this rank alone.
  void (*say_on_any_rank)(const char* text);
  // From `enters` to the next call without, this thread's calls are not recorded. May be nested.
  void (*own_code)(bool enters);
  // As in core/process/thread_state.h and privilege_drop.h.
  bool (*in_vfork_child)();
  bool (*has_dropped_privileges)();
  // Of this thread.
  MpiCall (*mpi_call)();
  // The absolute path of what MPI calls `name`; cut where it does not fit.
  void (*path_of_mpi)(const char* name, char* to, std::size_t bytes);
  // As in core/link/real_function.h.
  void (*interpose)(void* (*replacement)(const char* name, void* real));
  // The definition behind libiotune.so; nullptr: there is none.
  void* (*behind)(const char* name);
  ClosingCalls closing;  // filled by the library
};

}  // namespace iotune::logstore
