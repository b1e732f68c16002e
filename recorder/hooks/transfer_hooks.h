// What prefetching has to know of a program's transfers. It fills this table when the library is
// put together; the recorder does not know prefetching. Each entry does nothing until then.
//
// Where g_recording is not kWatched only the last three are called: a program without prefetching
// pays for none. Every entry runs inside OwnCode, keeps errno, never throws, and may be called by
// any thread.
#pragma once

#include <cstdint>

namespace iotune::recorder {

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

struct TransferHooks {
  // Around each read and write. After the call bytes are its result, of stdio the bytes moved.
  void (*before)(Transfer& transfer);
  void (*after)(const Transfer& transfer);
  // Instead of `after`, of one that was `counted`: a signal handler jumps out of the call.
  void (*left)(std::uint8_t counted);
  // Instead of a read: its result, where the bytes are known to be the file's. `memory`: what the
  // program gave, an array of iovec where bytes are -1 (then `parts` of them). A read at the
  // descriptor's position has moved that, and offset says where it was.
  std::int64_t (*serve_read)(Transfer& transfer, const void* memory, std::int64_t parts);
  // The traced descriptor is about to be closed, or made to stand for something else.
  void (*before_close)(int fd, std::uint32_t file);

  // The next seven: of all descriptors, traced or not, and in whatever context: a signal handler's,
  // too, that has interrupted iotune's own code (file_changes.h).
  // Around a call that may change the content of the file at `path`: what the first one returns
  // goes to the second, unless it is 0.
  std::uint32_t (*before_change)(int directory, const char* path);
  void (*after_change)(std::uint32_t token);
  // A new descriptor. `flags`: of its open, -1: not known.
  void (*opened)(int fd, int flags);
  // Around what closes a descriptor; as before_change.
  std::uint32_t (*before_any_close)(int fd);
  void (*after_any_close)(std::uint32_t token);
  // Mapped as shared memory: it may be written to from now on.
  void (*mapped)(int fd);
  // The program has synchronised, or changed what the descriptor does; what was read ahead on it is
  // not to be served.
  void (*synchronised)(int fd);

  // A signal handler jumps out of an entry that this thread is in the midst of.
  void (*jumped)();
  // MPI is about to start.
  void (*before_mpi_init)();
  // The last moment for records of one's own: the trace is written next.
  void (*before_trace)();
};

extern TransferHooks g_transfer_hooks;

}  // namespace iotune::recorder
