// Which numbers of processes these are: a container may have its own beside others in one folder.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune {

// Numbers of processes and threads mean nothing outside of this namespace. 0: it is not known.
inline std::uint64_t process_namespace() noexcept {
  char text[64];
  const long bytes = raw::readlink("/proc/self/ns/pid", text, sizeof text - 1);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* const digits = std::strpbrk(text, "0123456789");
  return digits == nullptr ? 0 : parse_decimal(digits);
}

}  // namespace iotune
