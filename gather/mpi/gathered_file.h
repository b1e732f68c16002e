// One file that several ranks have opened, and what this rank holds of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/files/descriptor.h"
#include "gather/account.h"
#include "gather/held/pieces.h"
#include "gather/held/view.h"
#include "gather/journal/journal.h"
#include "gather/mpi/mpi_functions.h"

namespace iotune::gather {

// Bytes of the program's memory, as a call describes them.
struct ProgramBytes {
  void* buffer;  // of a write: not changed
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
  struct Opened {
    Word handle;
    // This file's own: a handle on which nothing but bytes is written, and a communicator of its
    // ranks.
    Word second, comm;
    FileIdentity identity;
    const char* name;   // as the program gave it
    const char* place;  // of its log; "": what is held is in memory alone
    bool reads;         // it may be read through `handle`
  };
  // Keeps copies of the names. `journal`: at that place. Throws std::bad_alloc.
  GatheredFile(const Opened& opened, const GatherHost& host, Budget& budget,
               std::unique_ptr<Journal> journal);
  ~GatheredFile();
  GatheredFile(const GatheredFile&) = delete;
  GatheredFile& operator=(const GatheredFile&) = delete;

  Word handle() const noexcept { return opened_.handle; }
  const FileIdentity& identity() const noexcept { return opened_.identity; }

  // A write at `offset` of the view. False: it is not held, the call is to be made; what it touches
  // has been written.
  bool hold(std::int64_t offset, const ProgramBytes& from, void* status) noexcept;
  // The same at the individual pointer, which moves as by the call.
  bool hold_at_pointer(const ProgramBytes& from, void* status) noexcept;

  // A read at `offset` of the view, out of what is held. False: the call is to be made; what this
  // rank holds there has been written.
  bool serve(std::int64_t offset, const ProgramBytes& to, void* status) noexcept;
  bool serve_at_pointer(const ProgramBytes& to, void* status) noexcept;

  // All ranks, in a blocking collective call: what any of them holds is in the file afterwards. 0,
  // or what MPI says is wrong on some rank, an error class there and on all others.
  int flush() noexcept;
  // This rank alone, all that it holds. 0, or MPI's error, which flush() returns again.
  int write_out() noexcept;

  // The program has set this view (successfully), or changed the atomic mode.
  void view_is(std::int64_t displacement, Word etype, Word filetype, const char* datarep) noexcept;
  // All ranks, after each set_view, also one that failed here: it may have worked on others.
  void lock_pieces_beside_holes() noexcept;
  void atomic_is(bool atomic) noexcept { atomic_ = atomic; }

  // The process ends, and the file may never be closed: write_out(), and the log goes.
  void end() noexcept;
  // Writes into the trace what was held so far.
  void note() noexcept;
  // In the real close: gives back the second handle and the communicator, with all ranks. An error
  // of earlier writes, once more.
  int close() noexcept;

 private:
  struct Exchange;  // what a flush needs memory for (flush.cpp)

  bool begin_at_pointer(const ProgramBytes& bytes, std::int64_t& position) noexcept;
  void move_pointer(std::int64_t position, std::int64_t bytes) noexcept;
  NotHeld keep(std::int64_t offset, const std::byte* bytes, std::int64_t count) noexcept;
  bool leave(NotHeld why) noexcept;
  bool is_large(std::int64_t bytes) const noexcept;
  bool may_touch(const Range& range) noexcept;
  void begin_leaving() noexcept;
  int write_runs(const std::vector<Run>& runs, const std::byte* data, std::uint64_t& writes,
                 std::uint64_t& bytes) noexcept;
  int write_leaving() noexcept;
  int end_leaving(int wrong) noexcept;
  int agree(int wrong) noexcept;
  // Of a flush, each collective; an error is MPI's.
  bool agree_on_ranges(Exchange* exchange, const Ascending& pieces, const Range& all) noexcept;
  int write_ranges(Exchange& exchange, const Ascending& pieces, bool& none_went) noexcept;

  Opened opened_;
  const GatherHost& host_;
  const bool sieves_;     // MPI-IO writes strided pieces by reading what lies between them
  const bool exchanges_;  // as GatherHost's
  const std::int64_t largest_lone_piece_bytes_;
  std::mutex way_out_;  // who has it lets bytes out, and calls MPI for that
  std::mutex state_;    // of what follows; nothing of MPI is called with it
  HeldPieces held_, leaving_;
  std::unique_ptr<Journal> journal_;  // of both
  View view_;
  bool atomic_ = false;
  bool locks_ = false;     // `second` is in atomic mode, on all ranks
  Descriptor lock_trial_;  // kept: to close it would drop the program's own locks
  int wrong_ = 0;          // the first of MPI's errors: nothing is held any more
  int unsaid_ = 0;         // one that flush() has not returned
  Account account_;
  bool noted_ = false;
};

// Of `count` words on all ranks, word by word. False where MPI has an error.
bool reduce(const std::int64_t* own, std::int64_t* all, std::size_t count, Word operation,
            Word comm) noexcept;

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
