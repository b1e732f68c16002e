#include "tuner/posix/real_directory.h"

#include <fcntl.h>

#include <cstring>

#include "core/os/raw_syscall.h"

namespace iotune::tuner {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own limit

// Its directory with the slash at the end; 0 where there is none.
std::size_t directory_bytes(const char* file) noexcept {
  const char* const slash = std::strrchr(file, '/');
  return slash == nullptr ? 0 : static_cast<std::size_t>(slash - file) + 1;
}

// Replaces a link by what it points to. False where `file` is none.
bool follow(ShortText<4096>& file) noexcept {
  ShortText<4096> target;
  const long bytes = raw::readlink(file.c_str(), target.tail(), target.room() - 1);
  if (bytes <= 0) return false;
  target.grew(static_cast<std::size_t>(bytes));
  if (target.c_str()[0] != '/') {
    ShortText<4096> whole;
    whole.add(file.c_str(), directory_bytes(file.c_str()));
    whole << target.c_str();
    // Cut off it would be another file's name: without a slash it is nobody's.
    if (whole.cut()) whole.clear();
    file = whole;
  } else {
    file = target;
  }
  return true;
}

}  // namespace

bool real_directory_of(const char* file, ShortText<4096>& directory) noexcept {
  ShortText<4096> path;
  path << file;
  if (path.cut()) return false;
  int links = 0;
  while (follow(path)) {
    if (++links > kMostLinks) return false;
  }
  const std::size_t bytes = directory_bytes(path.c_str());
  if (bytes == 0) return false;
  directory.clear();
  directory.add(path.c_str(), bytes);
  // The kernel alone knows what the path means; O_PATH opens nothing on the file system.
  const int fd = raw::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  directory.clear();
  const long real = raw::readlink(link.c_str(), directory.tail(), directory.room() - 1);
  raw::close(fd);
  if (real <= 0 || static_cast<std::size_t>(real) >= directory.room() - 1) return false;
  directory.grew(static_cast<std::size_t>(real));
  // Outside this process's root the kernel tells no path, or says so in front of it.
  return directory.c_str()[0] == '/';
}

}  // namespace iotune::tuner
