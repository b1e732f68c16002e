// The owner of a descriptor. And numbers that programs which choose theirs (dup2, shells, select)
// do not hit: a program may close any number at any time (close_range), and a file that it opens
// then must not get the one that we still use.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdint>
#include <utility>

#include "core/os/raw_syscall.h"

namespace iotune {

// Closed with its owner; errno is kept. A negative number is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = other.release();
    }
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  // For who wants to know what the storage says then: 0 or -errno.
  int close() noexcept {
    constexpr int kInterrupted = -4;  // EINTR: it is closed
    const int closed = fd_ < 0 ? 0 : raw::close(release());
    return closed == kInterrupted ? 0 : closed;
  }

 private:
  int fd_;
};

// From which number on descriptors are moved; 0: nobody knows. Below 1024: a larger table of
// descriptors is a wait of some 15 ms for a process with threads, each time that the kernel makes
// one.
inline int first_high() noexcept {
  constexpr std::uint64_t kMost = 1024;
  struct rlimit limit {};
  if (raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw::word(&limit)) != 0) return 0;
  return static_cast<int>((limit.rlim_cur < kMost ? limit.rlim_cur : kMost) / 2);
}

inline constexpr long kDuplicate = 1030;  // F_DUPFD_CLOEXEC

// Gives it such a number, where the limit of open files leaves room for that.
inline int moved_high(int fd) noexcept {
  const int from = first_high();
  if (fd < 0 || fd >= from) return fd;
  const long high = raw::call(SYS_fcntl, fd, kDuplicate, from);
  if (high < 0) return fd;
  raw::close(fd);
  return static_cast<int>(high);
}
inline Descriptor moved_high(Descriptor low) noexcept {
  return Descriptor(moved_high(low.release()));
}

// At a process's start: once there are threads the kernel waits some 15 ms for the larger table
// that the first such number needs.
inline void prepare_high_numbers() noexcept {
  const int from = first_high();
  for (int fd = 0; fd <= 2 && from > 0; ++fd) {
    const long high = raw::call(SYS_fcntl, fd, kDuplicate, from);
    if (high >= 0) raw::close(static_cast<int>(high));
    if (high >= 0) return;
  }
}

}  // namespace iotune
