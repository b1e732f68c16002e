// A call that names files by their paths and moves no data.
#pragma once

#include <initializer_list>

#include "core/process/thread_state.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/posix/call_path.h"

namespace iotune::recorder {

// MPI's own end has begun: the files that it removes of its own are not the program's.
void pass_over_the_end_of_mpi() noexcept;

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

}  // namespace iotune::recorder
