// libiotune-db.so, loaded by the one process that needs a decision.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::tuner {

struct FileQuestion {
  const char* file;   // absolute path
  const char* layer;  // "hdf5", "hdf5-self", "mpiio" (decision.h)
  bool creating;
  int ranks, nodes;
  const char* mpi;          // nullptr without
  bool known_only = false;  // decision.h
};

// The decision's text. Bytes written; 0, after one line on stderr, where there is none to be
// had. Runs with OwnCode held.
std::size_t ask_database(const FileQuestion& question, char* answer, std::size_t capacity) noexcept;

// Whether ask_database() has nothing to say in all of this run.
bool nothing_can_be_asked() noexcept;

// For the files that the program opens by POSIX itself (iotune_program_answers); 0: nothing.
std::size_t ask_for_program(int ranks, int nodes, char* answers, std::size_t capacity) noexcept;

// Leaves an observation of a finished trace in the user's spool; what fails is said once.
void observe_trace(const char* trace) noexcept;

// A file that was asked about is closed: what its I/O took in this process.
void tell_series(const char* file, double seconds, std::uint64_t bytes, bool collective) noexcept;

void unlock_database_after_fork() noexcept;

}  // namespace iotune::tuner
