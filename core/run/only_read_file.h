// A database that is there and that this user may not change: a site's. Inline, because the tuner
// and the database's library both ask, and have to say the same.
#pragma once

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace iotune {

// Beside a database that is changed SQLite makes files.
[[gnu::noinline]] inline bool may_be_changed(const char* path) noexcept {
  char real[PATH_MAX];
  if (realpath(path, real) == nullptr) {
    const size_t bytes = strlen(path) + 1;
    if (bytes > sizeof real) return false;
    memcpy(real, path, bytes);
  }
  if (access(real, W_OK) != 0) return false;
  char* const slash = strrchr(real, '/');
  if (slash == nullptr) return access(".", W_OK) == 0;
  slash[slash == real ? 1 : 0] = '\0';
  return access(real, W_OK) == 0;
}

inline bool is_only_read(const char* path) noexcept {
  return access(path, F_OK) == 0 && !may_be_changed(path);
}

}  // namespace iotune
