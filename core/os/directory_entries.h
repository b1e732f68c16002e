// Reading a directory's entries without libc's streams, which allocate.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/os/raw_syscall.h"

namespace iotune {

// Below `at`, or from the working directory with raw::kAtFdcwd; never through a link. Negative
// where it cannot be opened.
inline int open_directory(long at, const char* name) noexcept {
  return static_cast<int>(
      raw::call(SYS_openat, at, raw::word(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Of an entry, not of what a link leads to; "": of the directory itself.
inline bool stat_of(int directory, const char* name, struct stat& status) noexcept {
  return raw::call(SYS_newfstatat, directory, raw::word(name), raw::word(&status),
                   *name == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW) == 0;
}

// Calls `each(name)` for the entries from the descriptor's position on but for "." and "..", until
// it answers false. True where all were met. `room` holds a few of them at a time.
template <std::size_t N, typename Each>
bool for_each_entry(int directory, char (&room)[N], Each&& each) noexcept {
  long bytes = 0;
  while ((bytes = raw::call(SYS_getdents64, directory, raw::word(room), N)) > 0) {
    // linux_dirent64: u64 inode, s64 offset, u16 record bytes, u8 type, name
    for (long at = 0; at < bytes;) {
      std::uint16_t record = 0;
      std::memcpy(&record, room + at + 16, sizeof record);
      const char* const name = room + at + 19;
      at += record;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (!each(name)) return false;
    }
  }
  return bytes == 0;
}

}  // namespace iotune
