// A write past RLIMIT_FSIZE is a SIGXFSZ in the program, even from fallocate: asked for first.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "core/os/raw_syscall.h"

namespace iotune {

inline bool within_size_limit(std::uint64_t end) noexcept {
  struct rlimit limit {};
  if (raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::word(&limit)) != 0) return false;
  return limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

}  // namespace iotune
