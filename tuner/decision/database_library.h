// libiotune-db.so, loaded by the one process that needs a decision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/os/short_text.h"
#include "patterndb/decide/decision.h"

namespace iotune::tuner {

// Where questions are to be expected, while the program is not in the midst of an open: a thread
// that holds the loader may wait for that one, in a library's constructor. Keeps errno.
void load_database() noexcept;

struct FileQuestion {
  const char* file;   // absolute path
  const char* layer;  // "hdf5", "hdf5-self", "mpiio" (decision.h)
  bool creating;
  int ranks, nodes;
  const char* mpi;                                    // nullptr without
  const char* (*mpi_io)(const char* file) = nullptr;  // decision.h
  bool known_only = false;                            // decision.h
};

// Writes a whole decision (packed_decision.h). Else returns false and a cleared decision; a failure
// is reported once on stderr. Runs with OwnCode held.
bool ask_database(const FileQuestion& question, iotune_answer& answer) noexcept;

// Whether ask_database() has no answer in all of this run.
bool nothing_can_be_asked() noexcept;

// Writes the answers for files that the program opens by POSIX itself (iotune_program_answers) into
// memory aligned to 8 bytes. Returns the bytes written, 0 where there are none.
std::size_t ask_for_program(int ranks, int nodes, void* answers, std::size_t capacity) noexcept;

// The path of the user's database, as patterndb/store/places.h defines it.
void database_path(ShortText<4096>& path) noexcept;

// True where the library was loaded in this process.
bool database_is_loaded() noexcept;

// As iotune_run_end (patterndb/decide/decision.h).
struct RunEnd {
  const char* folder;
  const char* trace;  // nullptr: nothing is learnt from this run
  const char* name;
  bool held;
  std::uint64_t until_ns;
};

// Learns from this run and from those that were kept; a failure is reported once.
void learn_from_runs(const RunEnd& end) noexcept;

// A file that was asked about is closed: `seconds` of I/O in this process.
void report_file_time(const char* file, double seconds, std::uint64_t bytes,
                      bool collective) noexcept;

}  // namespace iotune::tuner
