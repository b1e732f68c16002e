// A folder with those above it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune {

// As mkdir(2) of `path`, 0700. From the last name upwards: the folders above are there as a rule,
// and a home's server is asked for each.
template <std::size_t N>
long make_folders(ShortText<N>& path) noexcept {
  char* const text = path.tail() - path.size();
  char* const end = path.tail();
  long made = raw::mkdir(text, 0700);
  while (made == -ENOENT) {
    char* const slash = std::strrchr(text, '/');
    if (slash == nullptr || slash == text) break;
    *slash = '\0';
    made = raw::mkdir(text, 0700);
  }
  for (char* at = text + std::strlen(text); at < end; at += std::strlen(at)) {
    *at = '/';
    made = raw::mkdir(text, 0700);
  }
  return made;
}

}  // namespace iotune
