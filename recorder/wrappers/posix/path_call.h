// A call that names files by their paths and moves no data.
#pragma once

#include <initializer_list>

#include "core/link/real_function.h"
#include "core/process/thread_state.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/posix/call_path.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// MPI's own end has begun: the files that it removes of its own are not the program's. Nor is the
// log that a tool behind us (Darshan) opens and writes there: the trace is written by then.
void pass_over_the_end_of_mpi() noexcept;
// Whether a call in these layers is such a one: made by MPI or a tool, with nothing of HDF5 (which
// may close its files there) in between.
bool is_the_end_of_mpi(std::uint8_t layers) noexcept;

// One such call. Such calls alone leave no trace behind: they wait in memory until a file is
// opened, or until they are many.
class PathCall {
 public:
  // Just before the real call. `second` may be nullptr: one path.
  PathCall(int directory, const char* path, int second_directory, const char* second) noexcept;
  // A text that is no path of a file, recorded in front of the paths; it must live until made().
  void text_in_front(const char* text) noexcept { front_ = text; }
  // Just after it: records the numbers, the result last, where a file of the call is traced.
  template <typename... Numbers>
  void made(CallNumber number, Numbers... numbers) noexcept {
    record(number, {static_cast<std::int64_t>(numbers)...});
  }
  // Of the (first) path.
  bool traced() const noexcept { return traced_; }
  const char* path() const noexcept { return first_.c_str(); }

 private:
  void record(CallNumber number, std::initializer_list<std::int64_t> numbers) noexcept;

  CallScope scope_{Layer::kPosix};
  bool traced_ = false, two_;
  const char* front_ = nullptr;
  CallPath first_, second_;
};

// The paths that a call names, each with the directory where it begins if it is relative.
struct Paths {
  int directory;
  const char* path;
  int second_directory = 0;
  const char* second = nullptr;
};

// A call that this libc may lack. `numbers`: what is recorded between paths and result.
template <typename Result, typename... Arguments, typename... Numbers>
Result call_on_path(CallNumber number, const Paths& paths, NextCall<Result, Arguments...> real,
                    Numbers... numbers) noexcept {
  if (!real.exists()) return no_such_call();
  PathCall call(paths.directory, paths.path, paths.second_directory, paths.second);
  const Result result = real();
  call.made(number, numbers..., result);
  return result;
}

}  // namespace iotune::recorder
