// What the wrappers of MPI_File_* leave on a thread, in every mode, for as long as the call runs.
// By it alone the log store knows that a name is asked for by an MPI library, and for which file.
#pragma once

#include <cstdint>

namespace iotune {

class MpiFileMark;
// The innermost one of this thread; nullptr: it is in no such call.
extern __thread const MpiFileMark* t_mpi_file_mark __attribute__((tls_model("initial-exec")));

class MpiFileMark {
 public:
  // A call on a file that is open.
  [[gnu::always_inline]] MpiFileMark() noexcept : MpiFileMark(nullptr, 0) {}
  // A call that names its file as MPI has names. `ranks`: that open it together; 0: it is no open,
  // or nobody asked.
  [[gnu::always_inline]] MpiFileMark(const char* name, int ranks) noexcept
      : outer_(t_mpi_file_mark), name_(name), ranks_(ranks) {
    t_mpi_file_mark = this;
  }
  [[gnu::always_inline]] ~MpiFileMark() { t_mpi_file_mark = outer_; }
  MpiFileMark(const MpiFileMark&) = delete;
  MpiFileMark& operator=(const MpiFileMark&) = delete;

  const char* name() const noexcept { return name_; }
  int ranks() const noexcept { return ranks_; }

  // A long jump leaves all calls whose frames lie below `stack`.
  static void leave_by_jump(std::uintptr_t stack) noexcept {
    const MpiFileMark*& at = t_mpi_file_mark;
    while (at != nullptr && reinterpret_cast<std::uintptr_t>(at) < stack) at = at->outer_;
  }

 private:
  const MpiFileMark* outer_;
  const char* name_;
  int ranks_;
};

}  // namespace iotune
