// Where an open, a dataset or a property list needs a decision, it is asked for here. The tuner
// fills the table when the library is put together: the recorder does not know the tuner. It leaves
// everything alone until then.
//
// This is the kernel, and no service (service.h). Each open has one decision, which changes what
// the call gets and may have it made again. All ranks vote on it: were an entry missing on one of
// them, the others would wait.
//
// Every entry runs inside OwnCode, keeps errno, never throws, and may be called by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/abi/mpi_abi.h"
#include "core/link/real_function.h"
#include "recorder/call_numbers.h"

namespace iotune::recorder {

// after_open of HDF5 gets it for a file that is still being opened, which must not be asked.
inline constexpr std::int64_t kPendingFile = -2;

// What is kept between the two sides of one open; zeroed before each.
struct OpenState {
  std::uint64_t words[16];
  // Of an open by MPI-IO or HDF5: in another working directory its name means another file.
  bool named_relatively;
};

// An open by POSIX, stdio or a library above them.
struct FileDecisions {
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
  std::int64_t dcpl, dapl;  // may be replaced by lists that after_dataset closes
};

struct Hdf5Decisions {
  // `fapl` may be replaced by a list that after_open closes.
  void (*before_open)(Provider& hdf5, const char* name, Hdf5Making making, std::int64_t& fapl,
                      OpenState& state);
  // Right after the call. True: it failed with what we put in, on some rank, and is to be made once
  // more with `fapl` as it stands now. A file that is open here has been closed then.
  bool (*again_open)(Provider& hdf5, const char* name, std::int64_t file, std::int64_t& fapl,
                     OpenState& state);
  void (*after_open)(Provider& hdf5, const char* name, std::int64_t file, OpenState& state);
  void (*before_dataset)(Provider& hdf5, DatasetCall& call, OpenState& state);
  // Right after an H5Dcreate* or H5Dopen2. True: it is to be made once more, with the lists as they
  // stand now.
  bool (*again_dataset)(Provider& hdf5, std::int64_t dataset, std::int64_t& dcpl,
                        std::int64_t& dapl, OpenState& state);
  void (*after_dataset)(Provider& hdf5, std::int64_t dataset, OpenState& state);
  // Around H5Dread and H5Dwrite, so cheap where there is nothing to do.
  void (*before_transfer)(Provider& hdf5, std::int64_t dataset, std::int64_t dxpl,
                          OpenState& state);
  void (*after_transfer)(Provider& hdf5, std::int64_t dataset, int result, OpenState& state);
  // Whether none of the three above nor the two around H5Dread and H5Dwrite has anything to do
  // until the next open or close of a file.
  bool (*leaves_datasets_alone)();
  // The program set a property itself, copied or closed a list: words are the recorded
  // numbers, the call's result last.
  void (*property)(Provider& hdf5, CallNumber call, const std::int64_t* words, int count);
  // The communicator is still the program's own argument, and the call was collective.
  void (*fapl_mpio)(Provider& hdf5, std::int64_t fapl, Word comm, Word info);
};

struct MpiioDecisions {
  void (*before_open)(Provider& mpi, Word comm, const char* name, int amode, Word& info,
                      OpenState& state);
  // As again_open of HDF5, of `result` and `file`.
  bool (*again_open)(Provider& mpi, const char* name, Word file, int result, Word& info,
                     OpenState& state);
  void (*after_open)(Provider& mpi, const char* name, Word file, int result, OpenState& state);
  // Before MPI_File_read_ordered, MPI_File_write_ordered and their split forms, which are
  // collective.
  void (*before_ordered)(Provider& mpi, Word file);
  // Which MPI-IO of an Open MPI opens `path`: "OMPIO" or another. nullptr: the MPI has but one, or
  // that is not known.
  const char* (*name_of_io)(const char* path);
};

struct Decisions {
  FileDecisions files;
  Hdf5Decisions hdf5;
  MpiioDecisions mpiio;
  // At the end of an MPI run, for the site's log of what was applied: what this rank has to tell
  // rank 0, plain bytes of one size on all ranks; empty: nothing.
  std::span<const std::byte> (*own_outcomes)();
  // On rank 0: where another rank's go, empty where they are not asked for; and that they are
  // there.
  std::span<std::byte> (*room_for_outcomes)();
  void (*take_outcomes)();
  // What a batch system lets this job take of a node's memory.
  std::uint64_t (*job_limit_bytes)();
};

extern Decisions g_decisions;

// From now on nothing is done about opens by POSIX, nor when the run ends. What is decided for MPI
// and HDF5 stays, because their opens are agreed on with other ranks.
void leave_posix_alone() noexcept;

}  // namespace iotune::recorder
