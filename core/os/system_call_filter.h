// Whether a filter of system calls (seccomp) was there before the program began, as a container's.
// Nobody can be asked which calls it allows. One that it does not know may end the process, so that
// rare ones are left out where the program has others that do.
#pragma once

#include <fcntl.h>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

namespace iotune {

// As /proc/self/status has it; true where that cannot be read. Asked once: a filter that the
// program sets itself is a privilege drop (privilege_drop.h). Inline, because several libraries
// have it.
inline bool has_system_call_filter() noexcept {
  enum : int { kUnknown, kNone, kFilter };
  static constinit int known = kUnknown;
  const int before = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (before != kUnknown) return before == kFilter;
  if (has_dropped_privileges()) return true;
  const int fd = raw::open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return true;
  constexpr char kLine[] = "\nSeccomp:\t";
  constexpr unsigned kLineBytes = sizeof kLine - 1;
  char room[256];
  unsigned matched = 0;
  char mode = '\0';
  for (long bytes = 0; mode == '\0' && (bytes = raw::read(fd, room, sizeof room)) > 0;) {
    for (long i = 0; i < bytes && mode == '\0'; ++i) {
      if (matched == kLineBytes) {
        mode = room[i];
      } else if (room[i] == kLine[matched]) {
        ++matched;
      } else {
        matched = room[i] == '\n' ? 1 : 0;
      }
    }
  }
  raw::close(fd);
  // A kernel without filters has no such line.
  const bool has_one = mode != '\0' && mode != '0';
  __atomic_store_n(&known, has_one ? kFilter : kNone, __ATOMIC_RELAXED);
  return has_one;
}

}  // namespace iotune
