// A call that names files by their paths and moves no data.
#pragma once

#include "recorder/preload/private_path.h"
#include "recorder/preload/record_writer.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {

// A path argument of a call made absolute, in memory of its own only where it is a long one.
class CallPath {
 public:
  CallPath() noexcept = default;
  CallPath(const CallPath&) = delete;
  CallPath& operator=(const CallPath&) = delete;

  // True where the file is one that is traced. `directory`: what a relative path begins at.
  bool resolve(int directory, const char* path) noexcept;
  const char* c_str() const noexcept { return resolved_; }

 private:
  ShortText<768> near_;  // on the stack, which may be a signal handler's
  ShortText<4096>* far_ = nullptr;
  const char* resolved_ = "";

 public:
  ~CallPath() {
    if (far_ != nullptr) unmap(far_, sizeof *far_);
  }
};

// Such calls alone leave no trace behind: they wait in memory until a file is opened, or until
// they are many.
void begin_trace_if_many() noexcept;

// Makes the call, and records it with `numbers` and the result where a file of it is traced.
// `second` may be nullptr: one path.
template <typename Result, typename Call, typename... Numbers>
Result path_call(CallNumber number, int directory, const char* path, int second_directory,
                 const char* second, Call call, Numbers... numbers) noexcept {
  if (path == nullptr) return call();
  CallScope scope(Layer::kPosix);
  if (!scope.active()) return call();
  CallPath one, other;
  bool traced;
  {
    // Both are resolved in any case: a record has both.
    const OwnCode own;
    traced = one.resolve(directory, path);
    if (second != nullptr) traced = other.resolve(second_directory, second) || traced;
  }
  if (!traced || in_vfork_child()) {
    const Result result = call();
    scope.keep_errno();
    return result;
  }
  scope.start();
  const Result result = call();
  scope.stop();
  {
    const OwnCode own;
    begin_trace_if_many();
  }
  RecordWriter record(scope, number, Times::kControl);
  record.text(one.c_str());
  if (second != nullptr) record.text(other.c_str());
  (record.number(static_cast<std::int64_t>(numbers)), ...);
  record.number(static_cast<std::int64_t>(result));
  record.commit();
  return result;
}

}  // namespace iotune::recorder
