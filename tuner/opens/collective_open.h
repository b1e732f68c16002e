// One open with settings, by HDF5 or MPI-IO, on one rank or on all ranks of a communicator: what
// is to be passed is agreed on, and the call is made again where it fails with that.
//
// Ranks vote inside the call, which is collective: on the plan, on what was built, after each call
// on its outcome. Each rank takes part in every vote, in this order, whatever went wrong on it.
#pragma once

#include "core/abi/mpi_api.h"
#include "core/process/privilege_drop.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/reasons.h"
#include "tuner/hdf5/hidden_errors.h"
#include "tuner/mpiio/mpiio_hints.h"
#include "tuner/opens/call_attempts.h"
#include "tuner/posix/made_file.h"
#include "tuner/posix/posix_opens.h"
#include "tuner/posix/spare_memory.h"

namespace iotune::tuner {

struct CollectiveOpen;

// What one call gave: HDF5 has no code, and a handle below 0 where it failed.
struct OpenOutcome {
  bool failed;
  Word file;
  int code;
};

// What differs between HDF5 and MPI-IO.
struct OpenKind {
  const char* layer;  // of FileQuestion
  // Local. What the ranks compare, of the plan and its hints; false: this rank can do nothing.
  bool (*plan)(CollectiveOpen& open, std::uint64_t& hash);
  // Adds the settings that the call would carry, the hints aside.
  void (*add_candidates)(CollectiveOpen& open);
  // Builds what the call carries, less what the attempt leaves out. May be collective.
  bool (*build)(CollectiveOpen& open);
  void (*discard)(CollectiveOpen& open);  // nothing where nothing was built
  // Keeps what the call that failed said (keep_words).
  void (*keep_words_of)(CollectiveOpen& open, const OpenOutcome& outcome);
  // A file that opened here and not on all ranks. It stays open where to close it would harm it.
  bool (*may_close)(const CollectiveOpen& open);
  void (*close)(CollectiveOpen& open, Word file);
};

// What an open keeps from before to after; in memory of its own (SpareMemory), because threads may
// open at the same time.
struct CollectiveOpen {
  const OpenKind* kind;
  const MpiApi* mpi;  // nullptr: this process decides alone
  Word comm;          // the private one
  Word info;          // the program's hints, or info_null
  const char* path;   // during a hook alone
  FileMaking making;
  bool must_be_new;  // the call fails where the file exists
  iotune_answer answer;
  HintPlan hints;
  PosixOpens opens;
  CallAttempts attempts;
  HiddenFileErrors file_errors;
  MadeFile made;
  bool notes;      // this process writes down what became of the settings
  bool carries;    // what was built is passed; as long as the call may be made again
  Reason failure;  // why nothing was put into the call; kNone: something was, or nothing is
};

// Memory for an open; nullptr where this rank is not `able` to take part: it has voted for
// changing nothing then. `mpi`: nullptr for a process alone.
template <typename Open>
Open* take_part(SpareMemory<Open>& spare, const MpiApi* mpi, Word comm, bool able) noexcept {
  Open* const open = able && !has_dropped_privileges() ? spare.take() : nullptr;
  if (open == nullptr && mpi != nullptr) decline(*mpi, comm);
  return open;
}

// Before the call. The fields down to `must_be_new` are the caller's; the others are set here.
// False: there is no decision, on no rank. Else, where `carries` is set, what was built is to be
// passed.
bool decide_open(CollectiveOpen& open, bool named_relatively) noexcept;

// After each call. True: it is to be made once more, with what is built then, or with the
// program's own arguments where nothing is; a file that opened here has been closed.
bool repeat_open(CollectiveOpen& open, const OpenOutcome& outcome) noexcept;

}  // namespace iotune::tuner
