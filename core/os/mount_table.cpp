#include "core/os/mount_table.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"

namespace iotune {
namespace {

constexpr const char* kLocal[] = {"ext2",     "ext3",     "ext4",    "xfs",      "btrfs", "tmpfs",
                                  "ramfs",    "rootfs",   "overlay", "zfs",      "f2fs",  "jfs",
                                  "bcachefs", "reiserfs", "nilfs2",  "vfat",     "exfat", "ntfs3",
                                  "erofs",    "squashfs", "iso9660", "devtmpfs", "proc",  "sysfs"};

// The mounts that are not local, as one text: a byte 'a' (automounter) or 'd', the folder, a NUL.
class DistantMounts {
 public:
  DistantMounts() noexcept {
    text_ = static_cast<char*>(private_memory(2 * kBytes));
    const int fd =
        text_ == nullptr ? -1 : raw::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    known_ = read_lines(fd, text_ + kBytes);
    raw::close(fd);
  }
  ~DistantMounts() {
    if (text_ != nullptr) unmap(text_, 2 * kBytes);
  }
  DistantMounts(const DistantMounts&) = delete;
  DistantMounts& operator=(const DistantMounts&) = delete;

  bool known() const noexcept { return known_; }
  // Its byte; 0 where nothing distant is mounted there.
  char at(const char* folder) const noexcept {
    const char* const found = find(folder);
    return found == nullptr ? '\0' : *found;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;

  char* find(const char* folder) const noexcept {
    for (char* at = text_; at < text_ + used_; at += std::strlen(at) + 1) {
      if (std::strcmp(at + 1, folder) == 0) return at;
    }
    return nullptr;
  }

  // False where the table is longer than there is room, or has a line that is.
  bool read_lines(int fd, char* room) noexcept {
    std::size_t held = 0;
    for (;;) {
      const long bytes = raw::read(fd, room + held, kBytes - 1 - held);
      if (bytes == -EINTR) continue;
      if (bytes < 0) return false;
      if (bytes == 0) return held == 0;
      held += static_cast<std::size_t>(bytes);
      char* line = room;
      while (auto* const end = static_cast<char*>(
                 std::memchr(line, '\n', held - static_cast<std::size_t>(line - room)))) {
        *end = '\0';
        if (!take(line)) return false;
        line = end + 1;
      }
      held -= static_cast<std::size_t>(line - room);
      std::memmove(room, line, held);
      if (held == kBytes - 1) return false;
    }
  }

  // ID PARENT MAJOR:MINOR ROOT FOLDER OPTIONS … - TYPE SOURCE …; of two mounts on one folder the
  // later one is seen.
  bool take(char* line) noexcept {
    char* folder = line;
    for (int field = 0; field < 4 && folder != nullptr; ++field) {
      folder = std::strchr(folder, ' ');
      if (folder != nullptr) ++folder;
    }
    char* const end = folder == nullptr ? nullptr : std::strchr(folder, ' ');
    char* const dash = end == nullptr ? nullptr : std::strstr(end, " - ");
    if (dash == nullptr) return false;
    *end = '\0';
    char* const type = dash + 3;
    type[std::strcspn(type, " ")] = '\0';
    unescape(folder);
    if (char* const before = find(folder)) before[1] = '\0';
    if (is_local_file_system(type)) return true;
    const std::size_t bytes = std::strlen(folder) + 1;
    if (used_ + bytes + 1 > kBytes) return false;
    text_[used_] = std::strcmp(type, "autofs") == 0 ? 'a' : 'd';
    std::memcpy(text_ + used_ + 1, folder, bytes);
    used_ += bytes + 1;
    return true;
  }

  // Spaces and the like are \ooo.
  static void unescape(char* text) noexcept {
    char* to = text;
    for (const char* at = text; *at != '\0'; ++to) {
      const auto digit = [at](int i) { return at[i] >= '0' && at[i] <= '7'; };
      if (at[0] == '\\' && digit(1) && digit(2) && digit(3)) {
        *to = static_cast<char>((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
        at += 4;
      } else {
        *to = *at++;
      }
    }
    *to = '\0';
  }

  char* text_ = nullptr;
  std::size_t used_ = 0;
  bool known_ = false;
};

// Too large for a small stack, on which a program may open its first file.
struct Walk {
  using Path = ShortText<4096>;
  Path seen, here, rest, next;
  char target[4096];
};

class PrivateWalk {
 public:
  PrivateWalk() noexcept : walk_(static_cast<Walk*>(private_memory(sizeof(Walk)))) {}
  ~PrivateWalk() {
    if (walk_ != nullptr) unmap(walk_, sizeof(Walk));
  }
  PrivateWalk(const PrivateWalk&) = delete;
  PrivateWalk& operator=(const PrivateWalk&) = delete;
  Walk* get() const noexcept { return walk_; }

 private:
  Walk* walk_;
};

}  // namespace

bool is_local_file_system(const char* type) noexcept {
  for (const char* const local : kLocal) {
    if (std::strcmp(type, local) == 0) return true;
  }
  return false;
}

bool leads_to_distant_mount(const char* path, DistantMount& mount) noexcept {
  const DistantMounts mounts;
  const PrivateWalk room;
  mount.folder.clear();
  mount.below.clear();
  mount.by_automounter = false;
  if (!mounts.known() || room.get() == nullptr || mounts.at("/") != '\0') {
    mount.folder << '/';
    mount.below << path;
    return true;
  }
  Walk& walk = *room.get();
  constexpr int kMostLinks = 40;  // the kernel's own limit
  walk.rest << path;
  for (int links = 0; links <= kMostLinks && !walk.rest.cut();) {
    const char* name = walk.rest.c_str();
    name += std::strspn(name, "/");
    const std::size_t bytes = std::strcspn(name, "/");
    if (bytes == 0) return false;
    walk.next.clear();
    walk.next << name + bytes;
    const bool is_parent = bytes == 2 && name[0] == '.' && name[1] == '.';
    const bool is_dot = bytes == 1 && name[0] == '.';
    walk.here.clear();
    if (is_parent) {
      const char* const slash = std::strrchr(walk.seen.c_str(), '/');
      if (slash != nullptr) {
        walk.here.add(walk.seen.c_str(), static_cast<std::size_t>(slash - walk.seen.c_str()));
      }
    } else {
      walk.here << walk.seen.c_str();
      if (!is_dot) (walk.here << '/').add(name, bytes);
    }
    if (walk.here.cut()) return false;  // there is no such path
    if (const char kind = mounts.at(walk.here.c_str()); kind != '\0') {
      mount.folder << walk.here.c_str();
      mount.below << walk.next.c_str();
      mount.by_automounter = kind == 'a';
      return true;
    }
    long length = 0;
    if (!is_dot && !is_parent) {
      length = raw::readlink(walk.here.c_str(), walk.target, sizeof walk.target);
    }
    if (length == -ENOENT) return false;
    walk.rest.clear();
    if (length > 0) {
      ++links;
      walk.rest.add(walk.target, static_cast<std::size_t>(length));
      walk.rest << '/' << walk.next.c_str();
      if (walk.target[0] == '/') walk.seen.clear();
    } else {
      walk.seen = walk.here;
      walk.rest << walk.next.c_str();
    }
  }
  return false;
}

}  // namespace iotune
