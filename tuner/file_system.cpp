#include "tuner/file_system.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "patterndb/filesystems.h"
#include "recorder/preload/mapped_file.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/short_text.h"

namespace iotune::tuner {
namespace {

namespace raw = recorder::raw;

constexpr std::size_t kMostMounts = std::size_t{1} << 20;

// Those that lock for all their clients, and those of one kernel: who is elsewhere has another
// file by that name.
constexpr const char* kLocksHold[] = {"gpfs",  "cephfs", "ext4", "xfs",  "btrfs",
                                      "tmpfs", "ramfs",  "zfs",  "f2fs", "overlay"};

// How much of `path` the mount point covers, 0 for none. The kernel writes blanks as \040.
std::size_t covered(const char* point, std::size_t bytes, const char* path) noexcept {
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    char c = point[i];
    if (c == '\\' && i + 3 < bytes) {
      c = static_cast<char>((point[i + 1] - '0') * 64 + (point[i + 2] - '0') * 8 +
                            (point[i + 3] - '0'));
      i += 3;
    }
    if (path[at] != c) return 0;
    ++at;
  }
  if (at == 1) return 1;  // "/" covers everything
  return path[at] == '/' || path[at] == '\0' ? at : 0;
}

const char* ask(const char* directory) noexcept {
  char entries[8];
  // ceph-fuse reports itself as plain FUSE.
  if (getxattr(directory, "ceph.dir.entries", entries, 0) >= 0) return "cephfs";
  struct statfs status {};
  if (statfs(directory, &status) != 0) return "unknown";
  return filesystem_name(static_cast<std::uint32_t>(status.f_type));
}

// The last directory that was asked for: asking costs two calls, which many file systems answer
// over the network, and the files of a run lie together. A thread that finds it in use does
// without.
class LastDirectory {
 public:
  // nullptr: not known.
  const char* recall(const char* path, std::size_t bytes) noexcept {
    if (in_use_.test_and_set(std::memory_order_acquire)) return nullptr;
    const bool same = bytes < sizeof path_ && std::strncmp(path_, path, bytes) == 0;
    const char* const system = same && path_[bytes] == '\0' ? system_ : nullptr;
    in_use_.clear(std::memory_order_release);
    return system;
  }

  void keep(const char* path, std::size_t bytes, const char* system) noexcept {
    // A relative path means another directory after chdir().
    if (*path != '/' || bytes >= sizeof path_ || std::strcmp(system, "unknown") == 0) return;
    if (in_use_.test_and_set(std::memory_order_acquire)) return;
    std::memcpy(path_, path, bytes);
    path_[bytes] = '\0';
    system_ = system;
    in_use_.clear(std::memory_order_release);
  }

 private:
  std::atomic_flag in_use_;
  char path_[1024] = "";
  const char* system_ = nullptr;
};

constinit LastDirectory g_last;

}  // namespace

bool MountOptions::has(const char* option) const noexcept {
  const std::size_t wanted = std::strlen(option);
  for (std::size_t at = 0; at < bytes;) {
    std::size_t end = at;
    while (end < bytes && text[end] != ',') ++end;
    if (end - at == wanted && std::memcmp(text + at, option, wanted) == 0) return true;
    at = end + 1;
  }
  return false;
}

MountOptions mount_options(const char* mounts, const char* path) noexcept {
  MountOptions found{mounts, 0};
  std::size_t most = 0;
  // "device point type options 0 0"; the last of equal points lies on top.
  for (const char* line = mounts; *line != '\0';) {
    const char* const point = line + std::strcspn(line, " \n") + 1;
    if (point[-1] == ' ') {
      const std::size_t point_bytes = std::strcspn(point, " \n");
      const char* options = point + point_bytes;
      if (*options == ' ') options += 1 + std::strcspn(options + 1, " \n");
      const std::size_t depth = covered(point, point_bytes, path);
      if (*options == ' ' && depth >= most && depth > 0) {
        most = depth;
        found = {options + 1, std::strcspn(options + 1, " \n")};
      }
    }
    line += std::strcspn(line, "\n");
    if (*line == '\n') ++line;
  }
  return found;
}

const char* file_system_of(const char* file) noexcept {
  const char* const slash = std::strrchr(file, '/');
  if (slash == nullptr) return "unknown";
  const std::size_t bytes = slash == file ? 1 : static_cast<std::size_t>(slash - file);
  const char* system = g_last.recall(file, bytes);
  if (system != nullptr) return system;
  recorder::ShortText<4096> directory;
  directory.add(file, bytes);
  system = ask(directory.c_str());
  g_last.keep(file, bytes, system);
  return system;
}

bool locks_hold_between_nodes(const char* file, const char* file_system) noexcept {
  for (const char* const holds : kLocksHold) {
    if (std::strcmp(file_system, holds) == 0) return true;
  }
  if (std::strcmp(file_system, "lustre") != 0) return false;
  auto* const text = static_cast<char*>(recorder::private_memory(kMostMounts));
  const int fd = raw::open("/proc/self/mounts", O_RDONLY | O_CLOEXEC, 0);
  std::size_t used = 0;
  while (fd >= 0 && text != nullptr && used + 1 < kMostMounts) {
    const long bytes = raw::read(fd, text + used, kMostMounts - 1 - used);
    if (bytes <= 0) break;
    used += static_cast<std::size_t>(bytes);
  }
  if (fd >= 0) raw::close(fd);
  // Mounted with `localflock` a lock holds on its node only, without `flock` newer versions do.
  bool hold = false;
  if (text != nullptr && used + 1 < kMostMounts) {
    const MountOptions options = mount_options(text, file);
    hold = options.has("flock") && !options.has("localflock") && !options.has("noflock");
  }
  if (text != nullptr) recorder::unmap(text, kMostMounts);
  return hold;
}

}  // namespace iotune::tuner
