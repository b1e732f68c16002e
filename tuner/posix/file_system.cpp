#include "tuner/posix/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "patterndb/settings/filesystems.h"
#include "tuner/posix/real_directory.h"

namespace iotune::tuner {
namespace {

constexpr std::size_t kMostMounts = std::size_t{1} << 20;

// Those that lock for all their clients, and those of one kernel: who is elsewhere has another
// file by that name.
constexpr const char* kLocksHold[] = {"gpfs",  "cephfs", "ext4", "xfs",  "btrfs",
                                      "tmpfs", "ramfs",  "zfs",  "f2fs", "overlay"};

// What follows the word and its blank, or the end of the line.
const char* behind_word(const char* at) noexcept {
  at += std::strcspn(at, " \n");
  return *at == ' ' ? at + 1 : at;
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

MountOptions mount_options(const char* mountinfo, unsigned major, unsigned minor) noexcept {
  MountOptions found{mountinfo, 0};
  ShortText<32> device;
  device << major << ':' << minor << ' ';
  // "36 35 98:0 /root /point rw,noatime shared:1 - type source options", and what may stand before
  // the dash grows; blanks in names are written as \040.
  for (const char* line = mountinfo; *line != '\0';) {
    const std::size_t bytes = std::strcspn(line, "\n");
    const char* at = line;
    for (int i = 0; i < 2; ++i) at = behind_word(at);
    if (std::strncmp(at, device.c_str(), device.size()) == 0) {
      const char* const end = line + bytes;
      while (at < end && std::strncmp(at, "- ", 2) != 0) at = behind_word(at);
      for (int i = 0; i < 3; ++i) at = behind_word(at);
      if (at < end) found = {at, std::strcspn(at, " \n")};
    }
    line += bytes;
    if (*line == '\n') ++line;
  }
  return found;
}

const char* file_system_of(const char* file) noexcept {
  const char* const slash = std::strrchr(file, '/');
  if (slash == nullptr) return "unknown";
  ShortText<4096> directory;
  char first_of_target;
  if (raw::readlink(file, &first_of_target, 1) > 0) {
    return real_directory_of(file, directory) ? ask(directory.c_str()) : "unknown";
  }
  const std::size_t bytes = slash == file ? 1 : static_cast<std::size_t>(slash - file);
  const char* system = g_last.recall(file, bytes);
  if (system != nullptr) return system;
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
  // By the device: a mount point's name says nothing of a path with links in it.
  ShortText<4096> directory;
  struct stat status {};
  if (!real_directory_of(file, directory) ||
      raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(directory.c_str()), raw::word(&status),
                0) != 0) {
    return false;
  }
  auto* const text = static_cast<char*>(private_memory(kMostMounts));
  const int fd = raw::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
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
    const MountOptions options = mount_options(text, major(status.st_dev), minor(status.st_dev));
    hold = options.has("flock") && !options.has("localflock") && !options.has("noflock");
  }
  if (text != nullptr) unmap(text, kMostMounts);
  return hold;
}

}  // namespace iotune::tuner
