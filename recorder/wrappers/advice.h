// Where a hook needs advice it calls a slot that defaults to "leave it alone". The tuner fills
// the slots when the library is put together: recorder does not know tuner.
//
// Every slot runs inside OwnCode, keeps errno, never throws, and may be called by any thread.
#pragma once

#include <cstdint>

#include "recorder/call_numbers.h"
#include "core/link/real_function.h"

namespace iotune::recorder {

using Word = std::uintptr_t;  // an MPI handle, whatever the ABI makes of it

// after_hdf5_open gets it for a file that is still being opened, which must not be asked.
inline constexpr std::int64_t kPendingFile = -2;

// What a slot keeps between the two sides of one open; zeroed before each.
struct OpenState {
  std::uint64_t words[16];
  // Of an open by MPI-IO or HDF5: in another working directory its name means another file.
  bool named_relatively;
};

// What an open of HDF5 does about a file that is there, or is not.
enum class Hdf5Making : std::uint8_t {
  kOpens,     // fails where none is there
  kReads,     // as kOpens, for reading alone
  kEmpties,   // makes one, and cuts one that is there to nothing
  kMakesNew,  // makes one, and fails where one is there
};

// One H5Dcreate* or H5Dopen*. `type`, `space` and `dcpl` are 0 where the call has none.
struct DatasetCall {
  std::int64_t location, type, space;
  const char* name;  // as the program gave it, "" for an anonymous one
  bool creating, takes_dapl;
  std::int64_t dcpl, dapl;  // may be replaced by lists that after_hdf5_dataset closes
};

// A transfer at `offset` of what a traced descriptor stands for. Before the call offset is -1 where
// only the kernel knows it, and bytes are what is asked for (-1: a vector's).
struct Transfer {
  int fd;
  std::uint32_t file;  // its number in this process
  bool reads;
  bool buffered;  // through stdio's own buffer
  std::int64_t offset, bytes;
  std::uint64_t start_ticks, duration_ticks;  // 0 before the call
  std::uint8_t counted = 0;                   // kept for the advice between its two slots
  bool served = false;                        // no call was made: serve_read had the bytes
};

// What serve_read returns where the program's own call is to be made.
inline constexpr std::int64_t kMakeTheCall = -1;

struct Advice {
  // Where g_recording is kWatched: around each read and write. After the call bytes are its result,
  // of stdio the bytes moved.
  void (*before_transfer)(Transfer& transfer);
  void (*after_transfer)(const Transfer& transfer);
  // Instead of after_transfer, of one that was `counted`: a signal handler jumps out of the call.
  void (*left_transfer)(std::uint8_t counted);
  // Instead of a read: its result, where the bytes are known to be the file's. `memory`: what the
  // program gave, an array of iovec where bytes are -1 (then `parts` of them). A read at the
  // descriptor's position has moved that, and offset says where it was.
  std::int64_t (*serve_read)(Transfer& transfer, const void* memory, std::int64_t parts);
  // Where g_recording is kWatched: the traced descriptor is about to be closed, or made to stand
  // for something else.
  void (*before_close)(int fd, std::uint32_t file);

  // Where g_recording is kWatched, of all descriptors, traced or not, and in whatever context: a
  // signal handler's, too, that has interrupted iotune's own code (file_changes.h).
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
  // Where g_recording is kWatched: the program has synchronised, or changed what the descriptor
  // does; what was read ahead on it is not to be served.
  void (*synchronised)(int fd);

  // In a thread that runs a slice of the program ahead (ThreadState::runs_ahead), instead of the
  // call: its result, or -errno.
  std::int64_t (*slice_transfer)(const Transfer& transfer);
  std::int64_t (*slice_seek)(int fd, std::uint32_t file, std::int64_t offset, int whence);

  // A signal handler jumps out of a slot that this thread is in the midst of.
  void (*jumped)();

  // The last moment for records of one's own: the trace is written next.
  void (*before_trace)();

  void (*before_mpi_init)();
  void (*after_mpi_init)(Provider& mpi);
  // All ranks of the world are here, MPI still works.
  void (*before_mpi_finalize)(Provider& mpi);

  // In the child of a fork, before it does anything.
  void (*after_fork)();

  // This process has written the run's trace, and no other one waits for it any more: after the
  // real MPI_Finalize, or at the exit of a process without MPI.
  void (*run_ended)(const char* trace);

  // Around an open of any form that may make the file `path`: gives the flags to open it with,
  // then sees the descriptor (below 0: none).
  int (*before_create)(const char* path, int flags);
  void (*after_create)(int fd);
  // An open of any form has given this descriptor of the traced file `path`.
  void (*after_open)(const char* path, int fd);
  // Around the three above, where the program itself opens the file, by POSIX or stdio. `flags` as
  // of open(2).
  void (*before_program_open)(const char* path, int flags, OpenState& state);
  void (*after_program_open)(const char* path, OpenState& state);

  // `fapl` may be replaced by a list that after_hdf5_open closes.
  void (*before_hdf5_open)(Provider& hdf5, const char* name, Hdf5Making making, std::int64_t& fapl,
                           OpenState& state);
  // Right after the call. True: it failed with what we put in, on some rank, and is to be made once
  // more with `fapl` as it stands now. A file that is open here has been closed then.
  bool (*again_hdf5_open)(Provider& hdf5, const char* name, std::int64_t file, std::int64_t& fapl,
                          OpenState& state);
  void (*after_hdf5_open)(Provider& hdf5, const char* name, std::int64_t file, OpenState& state);
  void (*before_hdf5_dataset)(Provider& hdf5, DatasetCall& call, OpenState& state);
  // Right after an H5Dcreate* or H5Dopen2. True: it is to be made once more, with the lists as they
  // stand now.
  bool (*again_hdf5_dataset)(Provider& hdf5, std::int64_t dataset, std::int64_t& dcpl,
                             std::int64_t& dapl, OpenState& state);
  void (*after_hdf5_dataset)(Provider& hdf5, std::int64_t dataset, OpenState& state);
  // Around H5Dread and H5Dwrite, so cheap where there is nothing to do.
  void (*before_hdf5_transfer)(Provider& hdf5, std::int64_t dataset, std::int64_t dxpl,
                               OpenState& state);
  void (*after_hdf5_transfer)(Provider& hdf5, std::int64_t dataset, int result, OpenState& state);
  // Whether none of the three above nor the two around H5Dread and H5Dwrite has anything to do
  // until the next open or close of a file.
  bool (*leaves_datasets_alone)();
  // The program set a property itself, copied or closed a list: words are the recorded
  // numbers, the call's result last.
  void (*hdf5_property)(Provider& hdf5, CallNumber call, const std::int64_t* words, int count);
  // The communicator is still the program's own argument, and the call was collective.
  void (*hdf5_fapl_mpio)(Provider& hdf5, std::int64_t fapl, Word comm, Word info);

  void (*before_mpiio_open)(Provider& mpi, Word comm, const char* name, int amode, Word& info,
                            OpenState& state);
  // As again_hdf5_open, of `result` and `file`.
  bool (*again_mpiio_open)(Provider& mpi, const char* name, Word file, int result, Word& info,
                           OpenState& state);
  void (*after_mpiio_open)(Provider& mpi, const char* name, Word file, int result,
                           OpenState& state);
  // Before MPI_File_read_ordered, MPI_File_write_ordered and their split forms, which are
  // collective.
  void (*before_ordered)(Provider& mpi, Word file);
};

extern Advice g_advice;

// From now on the slots around calls of POSIX do nothing. Those of MPI and HDF5 stay, because their
// opens are agreed on with other ranks.
void leave_posix_alone() noexcept;

}  // namespace iotune::recorder
