// The one interface of services: folders beside the kernel that act on a program's calls. A service
// enlists itself when the library is put together. The recorder tells all that are in the list, at
// each of the moments below, and knows none of them. What is decided about an open is asked for
// elsewhere (decisions.h).
//
// An entry is null where a service does not care. Every entry keeps errno, never throws, may be
// called by any thread, and runs inside OwnCode where nothing else is said. A new moment is a new
// entry, and one place in the recorder that tells of it.
#pragma once

#include <cstdint>

#include "core/abi/mpi_abi.h"

namespace iotune {
class Provider;
}

namespace iotune::recorder {

// Of this struct, and of what a service's loader hands to its library. Both are built together; it
// tells a library that was left behind by another build.
inline constexpr std::uint32_t kServiceVersion = 8;

// A transfer at `offset` of the file of a traced descriptor. Before the call offset is -1 where
// only the kernel knows it, and bytes are what is asked for (-1: a vector's).
struct Transfer {
  int fd;
  std::uint32_t file;  // its number in this process
  bool reads;
  bool buffered;  // through stdio's own buffer
  std::int64_t offset, bytes;
  std::uint64_t start_ticks, duration_ticks;  // 0 before the call
  std::uint8_t counted = 0;                   // kept for the hooks between before and after
  bool served = false;                        // no call was made: serve_read had the bytes
};

// What serve_read returns where the program's own call is to be made.
inline constexpr std::int64_t kMakeTheCall = -1;

struct Service {
  std::uint32_t version = kServiceVersion;
  // Of one in a library of its own, once, before it is enlisted: fills the entries that are wanted.
  // `host`: what its loader has for it; lives as long as the process. False: nothing is to be done,
  // and what is wrong has been said.
  bool (*begin)(void* host) = nullptr;

  // --- The life of the process. after_mpi_init: whether all ranks are loaded is settled.
  void (*before_mpi_init)() = nullptr;
  void (*after_mpi_init)(Provider& mpi) = nullptr;
  // The last moment for records of one's own: the trace is written next.
  void (*before_trace)() = nullptr;
  // All ranks of the world are here, MPI still works.
  void (*before_mpi_finalize)(Provider& mpi) = nullptr;
  // This process has written the run's trace, and no other one waits for it any more: after the
  // real MPI_Finalize, or at the exit of a process without MPI.
  void (*run_ended)(const char* trace) = nullptr;
  // The last of this process that is sure to come: after the real MPI_Finalize, and at an exit.
  void (*process_ends)() = nullptr;
  // It is about to be replaced by another program, or to end without its handlers. In whatever
  // context, outside of OwnCode.
  void (*before_leaving)() = nullptr;
  // A signal handler jumps out of an entry that this thread is in the midst of.
  void (*jumped)() = nullptr;

  // --- Where ranks meet. Around MPI_Barrier, outside of OwnCode: what a rank did before it may be
  // what others count on afterwards.
  void (*before_meeting)() = nullptr;
  void (*after_meeting)() = nullptr;
  // Around MPI_File_open, in every mode. Every rank of `comm` comes here, and where all ranks of
  // the world have announced the service (core/run/presence.h) the second one may call MPI,
  // collectively.
  // `handle` is MPI_FILE_NULL, or 0, where the call failed.
  void (*before_shared_open)() = nullptr;
  void (*after_shared_open)(Provider& mpi, Word comm, Word handle) = nullptr;
  // Around MPI_File_close: what the first one returns goes to the second one. Null: the file is
  // not this service's.
  void* (*before_shared_close)(Word handle) = nullptr;
  void (*after_shared_close)(Provider& mpi, void* kept) = nullptr;

  // --- Files whose bytes this service keeps elsewhere. Nothing is decided about these, and no
  // service hears of their transfers. takes: an open of `path` that may make it, by this thread and
  // now.
  bool (*takes)(const char* path) = nullptr;
  bool (*owns)(int fd) = nullptr;

  // --- Transfers, where g_recording is kWatched. One service of a process has these at most.
  // Around each read and write. After the call bytes are its result, of stdio the bytes moved.
  void (*before)(Transfer& transfer) = nullptr;
  void (*after)(const Transfer& transfer) = nullptr;
  // Instead of `after`, of one that was `counted`: a signal handler jumps out of the call.
  void (*left)(std::uint8_t counted) = nullptr;
  // Instead of a read: its result, where the bytes are known to be the file's. `memory`: what the
  // program gave, an array of iovec where bytes are -1 (then `parts` of them). A read at the
  // descriptor's position has moved that, and offset says where it was.
  std::int64_t (*serve_read)(Transfer& transfer, const void* memory, std::int64_t parts) = nullptr;
  // The traced descriptor is about to be closed, or to become another file's.
  void (*before_close)(int fd, std::uint32_t file) = nullptr;

  // The next seven: of all descriptors, traced or not, and in whatever context: a signal handler's,
  // too, that has interrupted iotune's own code (file_changes.h).
  // Around a call that may change the content of the file at `path`: what the first one returns
  // goes to the second, unless it is 0.
  std::uint32_t (*before_change)(int directory, const char* path) = nullptr;
  void (*after_change)(std::uint32_t token) = nullptr;
  // A new descriptor. `flags`: of its open, -1: not known.
  void (*opened)(int fd, int flags) = nullptr;
  // Around what closes a descriptor; as before_change.
  std::uint32_t (*before_any_close)(int fd) = nullptr;
  void (*after_any_close)(std::uint32_t token) = nullptr;
  // Mapped as shared memory: it may be written to from now on.
  void (*mapped)(int fd) = nullptr;
  // The program has synchronised, or changed what the descriptor does; what was read ahead on it is
  // not to be served.
  void (*synchronised)(int fd) = nullptr;

  Service* next = nullptr;
};

// Before the program runs, by a constructor. The list is empty in a process that asked for none.
void enlist(Service& service) noexcept;
extern Service* g_services;

// A service in a library of its own.
struct ServiceLibrary {
  const char* name;       // beside libiotune.so, with a function iotune_service()
  Service* (*linked)();   // that function, where both are one program; else nullptr
  const char* otherwise;  // what follows where it cannot be loaded, for the user
};
// Loads, begins and enlists it, by a constructor: later the program may be inside of malloc or a
// signal handler. False: what fails has been said in one line.
bool load_service(const ServiceLibrary& library, void* host) noexcept;

// Tells every service that has the entry.
template <auto kEntry, typename... Arguments>
void tell_services(Arguments&&... arguments) noexcept {
  for (const Service* one = g_services; one != nullptr; one = one->next) {
    if (const auto entry = one->*kEntry; entry != nullptr) entry(arguments...);
  }
}

// The first answer other than `otherwise`.
template <auto kEntry, typename Answer, typename... Arguments>
Answer ask_services(Answer otherwise, Arguments&&... arguments) noexcept {
  for (const Service* one = g_services; one != nullptr; one = one->next) {
    const auto entry = one->*kEntry;
    if (entry == nullptr) continue;
    if (const Answer answer = entry(arguments...); answer != otherwise) return answer;
  }
  return otherwise;
}

inline bool is_owned(int fd) noexcept {
  return ask_services<&Service::owns>(false, fd);
}

// Whether this rank has a service that takes part in shared opens.
inline bool shares_opens() noexcept {
  const Service* one = g_services;
  while (one != nullptr && one->after_shared_open == nullptr) one = one->next;
  return one != nullptr;
}

}  // namespace iotune::recorder
