#include "tuner/decision/job_memory.h"

#include <fcntl.h>

#include <cstddef>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune::tuner {
namespace {

using Path = ShortText<1024>;

// Bytes read, 0 for none; `to` is a text afterwards.
std::size_t read_text(const char* path, char* to, std::size_t capacity) noexcept {
  const int fd = raw::open(path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long bytes = raw::read(fd, to, capacity - 1);
  raw::close(fd);
  to[bytes > 0 ? bytes : 0] = '\0';
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

// A group's limit is also that of all below it.
std::uint64_t least_upwards(const char* mount, const char* group, std::size_t group_bytes,
                            const char* file) noexcept {
  std::uint64_t least = kNoLimit;
  for (std::size_t length = group_bytes;;) {
    while (length > 0 && group[length - 1] == '/') --length;
    Path path;
    path << mount;
    path.add(group, length) << '/' << file;
    char text[32];
    // Version 2 says "max" where there is none.
    if (!path.cut() && read_text(path.c_str(), text, sizeof text) > 0 && text[0] >= '0' &&
        text[0] <= '9') {
      const std::uint64_t limit = parse_decimal(text);
      if (limit < least) least = limit;
    }
    if (length == 0) return least;
    while (length > 0 && group[length - 1] != '/') --length;
  }
}

bool names_memory(const char* controllers, std::size_t bytes) noexcept {
  static constexpr char kMemory[] = "memory";
  for (std::size_t at = 0; at < bytes;) {
    std::size_t end = at;
    while (end < bytes && controllers[end] != ',') ++end;
    if (end - at == sizeof kMemory - 1 && std::memcmp(controllers + at, kMemory, end - at) == 0) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

}  // namespace

std::uint64_t group_limit_bytes(const char* groups, const char* root) noexcept {
  std::uint64_t least = kNoLimit;
  // "number:controllers:group" a line; version 2 has no controllers.
  for (const char* line = groups; *line != '\0';) {
    const std::size_t bytes = std::strcspn(line, "\n");
    const auto* const first = static_cast<const char*>(std::memchr(line, ':', bytes));
    const char* const end = line + bytes;
    const char* const second =
        first == nullptr ? nullptr
                         : static_cast<const char*>(std::memchr(
                               first + 1, ':', static_cast<std::size_t>(end - first - 1)));
    if (second != nullptr) {
      const auto controllers = static_cast<std::size_t>(second - first - 1);
      const bool unified = controllers == 0;
      if (unified || names_memory(first + 1, controllers)) {
        Path mount;
        mount << root << (unified ? "" : "/memory");
        const std::uint64_t limit =
            least_upwards(mount.c_str(), second + 1, static_cast<std::size_t>(end - second - 1),
                          unified ? "memory.max" : "memory.limit_in_bytes");
        if (limit < least) least = limit;
      }
    }
    line = *end == '\n' ? end + 1 : end;
  }
  return least;
}

std::uint64_t job_limit_bytes() noexcept {
  constinit static std::uint64_t known = 0;  // 0: not asked yet
  std::uint64_t limit = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (limit != 0) return limit;
  char groups[4096];
  const bool read = read_text("/proc/self/cgroup", groups, sizeof groups) > 0;
  limit = read ? group_limit_bytes(groups, "/sys/fs/cgroup") : kNoLimit;
  if (limit == 0) limit = 1;
  __atomic_store_n(&known, limit, __ATOMIC_RELAXED);
  return limit;
}

}  // namespace iotune::tuner
