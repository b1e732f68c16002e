// libiotune-db.so, loaded by the one process that needs a decision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/os/short_text.h"
#include "patterndb/decide/decision.h"

namespace iotune::tuner {

struct FileQuestion {
  const char* file;   // absolute path
  const char* layer;  // "hdf5", "hdf5-self", "mpiio" (decision.h)
  bool creating;
  int ranks, nodes;
  const char* mpi;                                    // nullptr without
  const char* (*mpi_io)(const char* file) = nullptr;  // decision.h
  bool known_only = false;                            // decision.h
};

// Writes a whole decision (packed_decision.h). Else false and a cleared one, after one line on
// stderr where none is to be had. Runs with OwnCode held.
bool ask_database(const FileQuestion& question, iotune_answer& answer) noexcept;

// Whether ask_database() has nothing to say in all of this run.
bool nothing_can_be_asked() noexcept;

// For the files that the program opens by POSIX itself (iotune_program_answers), into memory that
// is aligned to 8 bytes. Bytes written, 0: nothing.
std::size_t ask_for_program(int ranks, int nodes, void* answers, std::size_t capacity) noexcept;

// Where the user's database lies, as patterndb/store/places.h has it.
void database_path(ShortText<4096>& path) noexcept;

// Some question was asked in this process: the library need not be loaded any more.
bool database_is_loaded() noexcept;

// As iotune_run_end (patterndb/decide/decision.h).
struct RunEnd {
  const char* folder;
  const char* trace;
  const char* name;
  bool held;
  std::uint64_t until_ns;
};

// Learns from this run and from those that were kept; what fails is said once.
void learn_from_runs(const RunEnd& end) noexcept;

// A file that was asked about is closed: `seconds` of I/O in this process.
void report_file_time(const char* file, double seconds, std::uint64_t bytes,
                      bool collective) noexcept;

}  // namespace iotune::tuner
