// The lock that processes have between them: flock(2).
#pragma once

#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"

namespace iotune {

// 0 or -errno; a signal is no reason to leave off.
inline long lock_file(int fd, int operation) noexcept {
  constexpr long kInterrupted = -4;  // EINTR
  long result = kInterrupted;
  while (result == kInterrupted) result = raw::call(SYS_flock, fd, operation);
  return result;
}

// A file that this process alone has, until the lock ends.
class FileLock {
 public:
  FileLock() noexcept = default;
  // Waits for as long as that takes.
  explicit FileLock(Descriptor file) noexcept
      : file_(std::move(file)), held_(file_ && lock_file(fd(), LOCK_EX) == 0) {}
  // Another process may hold it for as long as it likes, and not every file system has locks.
  FileLock(Descriptor file, int tries, timespec pause) noexcept : file_(std::move(file)) {
    constexpr long kBusy = -11;  // EWOULDBLOCK
    for (int i = 0; file_ && i < tries && !held_; ++i) {
      if (i > 0) raw::call(SYS_nanosleep, raw::word(&pause), 0);
      const long result = lock_file(fd(), LOCK_EX | LOCK_NB);
      held_ = result == 0;
      if (!held_ && result != kBusy) return;
    }
  }
  FileLock(FileLock&& other) noexcept
      : file_(std::move(other.file_)), held_(std::exchange(other.held_, false)) {}
  FileLock& operator=(FileLock&&) = delete;
  // Not by closing alone: a child that another thread forks meanwhile would keep the lock.
  ~FileLock() {
    if (held_) lock_file(fd(), LOCK_UN);
  }

  int fd() const noexcept { return file_.get(); }  // negative: there is no such file
  bool held() const noexcept { return held_; }

 private:
  Descriptor file_;
  bool held_ = false;
};

}  // namespace iotune
