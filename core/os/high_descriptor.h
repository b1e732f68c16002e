// Descriptors of our own that the program may close at any time, for they have numbers as its own
// have (close_range, dup2): a file that it opens then must not get the number we still use.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdint>

#include "core/os/raw_syscall.h"

namespace iotune {

// A number that programs which choose theirs (dup2, shells) do not hit.
inline int moved_high(int fd) noexcept {
  constexpr long kDuplicate = 1030;  // F_DUPFD_CLOEXEC
  constexpr std::uint64_t kMost = 1024, kBelow = 32;
  struct rlimit limit {};
  raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw::word(&limit));
  const std::uint64_t most = limit.rlim_cur < kMost ? limit.rlim_cur : kMost;
  if (most <= 2 * kBelow) return fd;
  const long high = raw::call(SYS_fcntl, fd, kDuplicate, raw::word(most - kBelow));
  if (high < 0) return fd;
  raw::close(fd);
  return static_cast<int>(high);
}

}  // namespace iotune
