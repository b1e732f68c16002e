// The one interface between libiotune.so and libiotune-logstore.so. Both are built together; the
// version tells a library that was left behind by another build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::logstore {

inline constexpr std::uint32_t kLogStoreInterfaceVersion = 4;

// The call on an MPI file that a thread is in (core/abi/mpi_file_mark.h).
struct MpiCall {
  bool is_running;
  const char* name;  // nullptr: of a file that is open
  int ranks;         // that open the file; 0: it is no open
};

// What the library has of the preload. Texts live as long as the process.
struct LogStoreHost {
  std::uint32_t version;
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

struct LogStoreHooks {
  // Is an open of `path` that may make it, by this thread and now, one of the log store's?
  bool (*takes)(const char* path);
  bool (*is_logged)(int fd);
  // Around a call in which ranks meet: what one wrote before the others see afterwards.
  void (*before_meeting)();
  void (*after_meeting)();
  // The process is about to be replaced, or to end without its handlers: everything is flushed.
  void (*before_leaving)();
  ClosingCalls closing;
};

extern "C" {
// Once, by the constructor. `host` lives as long as the process. False: no file is logged; what is
// wrong has been said.
bool iotune_logstore_install(const LogStoreHost* host, LogStoreHooks* hooks) noexcept;
}

}  // namespace iotune::logstore
