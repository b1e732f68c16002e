// One file that several ranks have opened, and what this rank holds of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "gather/held/pieces.h"
#include "gather/mpi/mpi_functions.h"

namespace iotune::gather {

// Bytes of the program's memory, as a call describes them.
struct ProgramBytes {
  const void* buffer;
  int count;
  Word type;
};

// Which file it is; none where that is not known.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const noexcept = default;
};

class GatheredFile {
 public:
  // `comm` and `second` are this file's own: a communicator of its ranks, and a handle on which
  // nothing but bytes is written.
  GatheredFile(Word handle, Word second, Word comm, FileIdentity identity, bool exchanges,
               Budget& budget) noexcept
      : handle_(handle),
        second_(second),
        comm_(comm),
        identity_(identity),
        exchanges_(exchanges),
        held_(budget),
        leaving_(budget) {}

  Word handle() const noexcept { return handle_; }
  const FileIdentity& identity() const noexcept { return identity_; }

  // A write at `offset` of the view. False: it is not held, the call is to be made; what it touches
  // has been written.
  bool hold(std::int64_t offset, const ProgramBytes& from, void* status) noexcept;
  // The same at the individual pointer, which moves as by the call.
  bool hold_at_pointer(const ProgramBytes& from, void* status) noexcept;

  // All ranks, in a blocking collective call: what any of them holds is in the file afterwards. 0,
  // or what MPI says is wrong on some rank, an error class there and on all others.
  int flush() noexcept;
  // This rank alone, all that it holds. 0, or MPI's error, which flush() returns again.
  int write_out() noexcept;
  // Before another access of this rank: what it holds there goes out. `bytes` -1: up to the end.
  void make_way(std::int64_t offset, std::int64_t bytes) noexcept;

  // The program has set this view (successfully), or changed the atomic mode.
  void view_is(std::int64_t displacement, Word etype, Word filetype, const char* datarep) noexcept;
  void atomic_is(bool atomic) noexcept { atomic_ = atomic; }

  // In the real close: gives back the second handle and the communicator, with all ranks. An error
  // of earlier writes, once more.
  int close() noexcept;

 private:
  bool keep(std::int64_t at, const void* bytes, std::size_t count) noexcept;
  bool may_touch(std::int64_t at, std::int64_t bytes) noexcept;
  void begin_leaving() noexcept;
  int write_exactly(const Ascending& pieces) noexcept;
  int write_together(const Ascending& pieces, std::int64_t rounds) noexcept;
  int write_leaving() noexcept;
  int end_leaving(int wrong) noexcept;
  int agree(int wrong) noexcept;

  const Word handle_;
  Word second_, comm_;
  const FileIdentity identity_;
  const bool exchanges_;  // as GatherHost's
  std::mutex way_out_;    // who has it lets bytes out, and calls MPI for that
  std::mutex state_;      // of what follows; nothing of MPI is called with it
  HeldPieces held_, leaving_;
  // The view, where it has no holes: an etype of so many bytes, from there on. 0: it has.
  std::int64_t displacement_ = 0, etype_bytes_ = 1;
  bool atomic_ = false;
  int wrong_ = 0;   // the first of MPI's errors: nothing is held any more
  int unsaid_ = 0;  // one that flush() has not returned
};

// The files of this process. `find` is for each call: nullptr where the handle is not gathered.
GatheredFile* find_file(Word handle) noexcept;
// The one that has been opened first; nullptr where there is none, or the identity is not known.
GatheredFile* find_file(const FileIdentity& identity) noexcept;
// The file lives until remove_file. False: there are too many.
bool add_file(GatheredFile* file) noexcept;
void remove_file(GatheredFile* file) noexcept;
// For all of them, in the order of their opens.
void each_file(void (*visit)(GatheredFile& file)) noexcept;

}  // namespace iotune::gather
