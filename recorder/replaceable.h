// Which file a trace may take the place of. The preload and the readers share this rule;
// python/iotune/output_file.py is its twin.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstring>

#include "recorder/format.h"

namespace iotune::recorder {

// Why a file with this status (of lstat) must stay what it is; nullptr where `user` may replace it.
// A rename would remove a device or a FIFO, and a link may lead anywhere.
inline const char* why_not_replaced(const struct stat& status, unsigned long user) noexcept {
  if (S_ISLNK(status.st_mode)) return "it is a symbolic link: name the file itself";
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  if (status.st_uid != user) return "it belongs to another user";
  return nullptr;
}

inline constexpr const char* kNoTrace = "a file that is no trace is there";

// Whether `start`, the first `bytes` of a file, are those of a trace. An empty file may become one.
inline bool may_become_trace(const void* start, std::size_t bytes) noexcept {
  constexpr std::size_t kMagicBytes = sizeof kTraceMagic - 1;
  return bytes == 0 || (bytes >= kMagicBytes && std::memcmp(start, kTraceMagic, kMagicBytes) == 0);
}

}  // namespace iotune::recorder
