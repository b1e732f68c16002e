// What the kernel says of a process in /proc.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune {

// The first bytes of a file as a text. How many there are; 0 or negative: it cannot be read.
template <std::size_t N>
long read_text(const char* path, char (&text)[N]) noexcept {
  const Descriptor file(raw::open(path, O_RDONLY | O_CLOEXEC, 0));
  const long bytes = raw::read(file.get(), text, N - 1);
  text[bytes > 0 ? bytes : 0] = '\0';
  return bytes;
}

struct ProcessStat {
  char state = '\0';         // R, S, D, T, t, Z, …
  std::uint64_t parent = 0;  // its process id
  std::uint64_t start = 0;   // in ticks of the clock after the node's start
};

// Of a process or thread; all 0: there is none.
inline ProcessStat process_stat(std::uint64_t pid) noexcept {
  ShortText<64> path;
  path << "/proc/" << pid << "/stat";
  char text[1024];
  read_text(path.c_str(), text);
  ProcessStat stat;
  // The name in brackets may hold spaces and brackets: fields count after the last one.
  const char* at = std::strrchr(text, ')');
  for (int field = 3; field <= 22; ++field) {
    if (at != nullptr) at = std::strchr(at + 1, ' ');
    if (at == nullptr) return {};
    if (field == 3) stat.state = at[1];
    if (field == 4) stat.parent = parse_decimal(at + 1);
  }
  stat.start = parse_decimal(at + 1);
  return stat;
}

}  // namespace iotune
