// A path argument of a call made absolute.
#pragma once

#include "core/os/mapped_file.h"
#include "core/os/short_text.h"

namespace iotune::recorder {

// In memory of its own only where it is a long one: a call may happen on a small stack.
class CallPath {
 public:
  CallPath() noexcept = default;
  ~CallPath() {
    if (far_ != nullptr) unmap(far_, sizeof *far_);
  }
  CallPath(const CallPath&) = delete;
  CallPath& operator=(const CallPath&) = delete;

  // True where the file is one that is traced. `directory`: what a relative path begins at, a
  // descriptor or AT_FDCWD. An absolute path is not copied: the program's must stay.
  bool resolve(int directory, const char* path) noexcept;
  const char* c_str() const noexcept { return resolved_; }

 private:
  static constexpr std::size_t kNearBytes = 384;
  ShortText<kNearBytes> near_;  // on the stack, which may be a signal handler's
  ShortText<4096>* far_ = nullptr;
  const char* resolved_ = "";
};

}  // namespace iotune::recorder
