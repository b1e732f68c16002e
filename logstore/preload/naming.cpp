// Calls that change what names stand for, and what is kept of a file beside its bytes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "logstore/format.h"
#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/names.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/store_options.h"
#include "logstore/store/logged_file.h"
#include "logstore/store/past_writes.h"

namespace iotune::logstore {

std::optional<std::string> container_at(int at, const char* path, bool follows) {
  std::optional<std::string> below = path_below(at, path);
  if (!below || !is_container(AT_FDCWD, below->c_str(), follows)) return std::nullopt;
  return below;
}

std::string handle_of(const std::string& container) {
  std::string handle = container + "/" + kHandleName;
  if (faccessat(AT_FDCWD, handle.c_str(), F_OK, 0) == 0) return handle;
  return container + "/" + kDescriptionName;
}

bool wants_directory(const char* path) noexcept {
  return path[0] != '\0' && path[std::strlen(path) - 1] == '/';
}

// One look is enough where it lies in none.
bool is_in_container(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return false;
  const std::string parent = path.substr(0, slash);
  struct stat there {};
  return lstat((parent + "/" + kDescriptionName).c_str(), &there) == 0 &&
         is_container(AT_FDCWD, parent.c_str());
}

namespace {

// Files are removed by libc as ever: only what turns out to be a directory is looked at.
template <typename Call>
int unlinked(int at, const char* path, Call call) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        if (!path_below(at, path)) return std::nullopt;
        const int removed = result_of(call());
        if (removed != -EISDIR && removed != -EPERM) return removed;
        const auto container = container_at(at, path, false);
        return container ? remove_container(*container) : removed;
      },
      call);
}
int own_unlinkat(int at, const char* path, int flags) noexcept {
  if ((flags & AT_REMOVEDIR) == 0) {
    return unlinked(at, path, [&] { return real.unlinkat(at, path, flags); });
  }
  return guarded(
      [&]() -> std::optional<int> {
        if (!container_at(at, path, false)) return std::nullopt;
        return -ENOTDIR;
      },
      [&] { return real.unlinkat(at, path, flags); });
}
int own_unlink(const char* path) noexcept {
  return unlinked(AT_FDCWD, path, [&] { return real.unlink(path); });
}
// remove(3) would take a directory of its own kind away: it is asked first.
int own_remove(const char* path) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        const auto container = container_at(AT_FDCWD, path, false);
        if (!container) return std::nullopt;
        return remove_container(*container);
      },
      [&] { return real.remove(path); });
}
int own_rmdir(const char* path) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        if (!container_at(AT_FDCWD, path, false)) return std::nullopt;
        return -ENOTDIR;
      },
      [&] { return real.rmdir(path); });
}

// An ordinary file takes a container's name: the two change places, and the container goes.
int replace_container(const std::string& from, const std::string& container, unsigned flags) {
  if ((flags & RENAME_NOREPLACE) != 0) return -EEXIST;
  struct stat status {};
  if (lstat(from.c_str(), &status) != 0) return -errno;
  if (S_ISDIR(status.st_mode)) return -ENOTDIR;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, container.c_str(), RENAME_EXCHANGE) == 0) {
    return remove_container(from);
  }
  // Not all file systems can exchange: for a moment the name is nobody's.
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  const int removed = remove_container(container);
  if (removed != 0) return removed;
  return rename(from.c_str(), container.c_str()) == 0 ? 0 : -errno;
}

std::optional<int> renamed(int from_at, const char* from, int to_at, const char* to,
                           unsigned flags) {
  const auto moved = container_at(from_at, from, false);
  const auto replaced = container_at(to_at, to, false);
  if (!moved && !replaced) return std::nullopt;
  const auto from_below = moved ? moved : path_below(from_at, from);
  const auto to_below = replaced ? replaced : path_below(to_at, to);
  if (moved) {
    // Elsewhere it would be a directory: as from one file system to another, who moves it copies.
    if (!to_below) return -EXDEV;
    if ((flags & RENAME_EXCHANGE) != 0) return std::nullopt;
    return rename_container(*moved, *to_below, flags);
  }
  if ((flags & RENAME_EXCHANGE) != 0) return std::nullopt;
  if (!from_below) return -EXDEV;
  return replace_container(*from_below, *replaced, flags);
}

int own_rename(const char* from, const char* to) noexcept {
  return guarded([&] { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); },
                 [&] { return real.rename(from, to); });
}
int own_renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
  return guarded([&] { return renamed(from_at, from, to_at, to, 0); },
                 [&] { return real.renameat(from_at, from, to_at, to); });
}
int own_renameat2(int from_at, const char* from, int to_at, const char* to,
                  unsigned flags) noexcept {
  return guarded([&] { return renamed(from_at, from, to_at, to, flags); },
                 [&] { return real.renameat2(from_at, from, to_at, to, flags); });
}

// A container has one name.
std::optional<int> linked(int at, const char* from, bool follows) {
  if (!container_at(at, from, follows)) return std::nullopt;
  return -EPERM;
}
int own_link(const char* from, const char* to) noexcept {
  return guarded([&] { return linked(AT_FDCWD, from, false); },
                 [&] { return real.link(from, to); });
}
int own_linkat(int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
  return guarded([&] { return linked(from_at, from, (flags & AT_SYMLINK_FOLLOW) != 0); },
                 [&] { return real.linkat(from_at, from, to_at, to, flags); });
}

int own_truncate(const char* path, off_t size) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        const auto container = container_at(AT_FDCWD, path, true);
        if (!container) return std::nullopt;
        if (size < 0) return -EINVAL;
        if (faccessat(AT_FDCWD, handle_of(*container).c_str(), W_OK, AT_EACCESS) != 0)
          return -errno;
        std::shared_ptr<LoggedFile> file;
        const int wrong = LoggedFile::open(*container, store_options(), file);
        if (wrong != 0) return wrong;
        take_in_past_writes(*file);
        const int cut = file->truncate(size);
        if (cut == 0) cut_past_writes(*file, size);
        return cut != 0 ? cut : file->flush();
      },
      [&] { return real.truncate(path, size); });
}

std::optional<int> mode_changed(int at, const char* path, mode_t mode, bool follows) {
  const auto container = container_at(at, path, follows);
  if (!container) return std::nullopt;
  std::shared_ptr<LoggedFile> file;
  const int wrong = LoggedFile::open(*container, store_options(), file);
  return wrong != 0 ? wrong : file->set_mode(mode);
}
int own_fchmod(int fd, mode_t mode) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return file.file->set_mode(mode); },
      [&] { return real.fchmod(fd, mode); });
}
int own_chmod(const char* path, mode_t mode) noexcept {
  return guarded([&] { return mode_changed(AT_FDCWD, path, mode, true); },
                 [&] { return real.chmod(path, mode); });
}
int own_fchmodat(int at, const char* path, mode_t mode, int flags) noexcept {
  return guarded([&] { return mode_changed(at, path, mode, (flags & AT_SYMLINK_NOFOLLOW) == 0); },
                 [&] { return real.fchmodat(at, path, mode, flags); });
}

std::optional<int> owner_changed(int at, const char* path, uid_t user, gid_t group, bool follows) {
  const auto container = container_at(at, path, follows);
  if (!container) return std::nullopt;
  std::shared_ptr<LoggedFile> file;
  const int wrong = LoggedFile::open(*container, store_options(), file);
  return wrong != 0 ? wrong : file->set_owner(user, group);
}
int own_fchown(int fd, uid_t user, gid_t group) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return file.file->set_owner(user, group); },
      [&] { return real.fchown(fd, user, group); });
}
int own_chown(const char* path, uid_t user, gid_t group) noexcept {
  return guarded([&] { return owner_changed(AT_FDCWD, path, user, group, true); },
                 [&] { return real.chown(path, user, group); });
}
int own_lchown(const char* path, uid_t user, gid_t group) noexcept {
  return guarded([&] { return owner_changed(AT_FDCWD, path, user, group, false); },
                 [&] { return real.lchown(path, user, group); });
}
int own_fchownat(int at, const char* path, uid_t user, gid_t group, int flags) noexcept {
  return guarded(
      [&] { return owner_changed(at, path, user, group, (flags & AT_SYMLINK_NOFOLLOW) == 0); },
      [&] { return real.fchownat(at, path, user, group, flags); });
}

std::optional<int> times_changed(int at, const char* path, const timespec* times, bool follows) {
  const auto container = container_at(at, path, follows);
  if (!container) return std::nullopt;
  std::shared_ptr<LoggedFile> file;
  const int wrong = LoggedFile::open(*container, store_options(), file);
  return wrong != 0 ? wrong : file->set_times(times);
}
int own_futimens(int fd, const timespec* times) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return file.file->set_times(times); },
      [&] { return real.futimens(fd, times); });
}
int own_utimensat(int at, const char* path, const timespec* times, int flags) noexcept {
  return guarded([&] { return times_changed(at, path, times, (flags & AT_SYMLINK_NOFOLLOW) == 0); },
                 [&] { return real.utimensat(at, path, times, flags); });
}
int own_utimes(const char* path, const timeval* times) noexcept {
  timespec both[2] = {};
  for (int i = 0; times != nullptr && i < 2; ++i) {
    both[i] = {times[i].tv_sec, times[i].tv_usec * 1000};
  }
  return guarded(
      [&] { return times_changed(AT_FDCWD, path, times == nullptr ? nullptr : both, true); },
      [&] { return real.utimes(path, times); });
}
int own_utime(const char* path, const utimbuf* times) noexcept {
  timespec both[2] = {};
  if (times != nullptr) {
    both[0].tv_sec = times->actime;
    both[1].tv_sec = times->modtime;
  }
  return guarded(
      [&] { return times_changed(AT_FDCWD, path, times == nullptr ? nullptr : both, true); },
      [&] { return real.utime(path, times); });
}

}  // namespace

Replacements replaced_names() noexcept {
  static const Replacement kList[] = {
      replacement("unlink", real.unlink, own_unlink, When::kAtOnce),
      replacement("unlinkat", real.unlinkat, own_unlinkat, When::kAtOnce),
      replacement("remove", real.remove, own_remove, When::kAtOnce),
      replacement("rmdir", real.rmdir, own_rmdir, When::kAtOnce),
      replacement("rename", real.rename, own_rename, When::kAtOnce),
      replacement("renameat", real.renameat, own_renameat, When::kAtOnce),
      replacement("renameat2", real.renameat2, own_renameat2, When::kAtOnce),
      replacement("link", real.link, own_link, When::kAtOnce),
      replacement("linkat", real.linkat, own_linkat, When::kAtOnce),
      replacement("truncate", real.truncate, own_truncate, When::kAtOnce),
      replacement("truncate64", real.truncate, own_truncate, When::kAtOnce),
      replacement("chmod", real.chmod, own_chmod, When::kAtOnce),
      replacement("fchmod", real.fchmod, own_fchmod, When::kFirstFile),
      replacement("fchown", real.fchown, own_fchown, When::kFirstFile),
      replacement("fchmodat", real.fchmodat, own_fchmodat, When::kAtOnce),
      replacement("chown", real.chown, own_chown, When::kAtOnce),
      replacement("lchown", real.lchown, own_lchown, When::kAtOnce),
      replacement("fchownat", real.fchownat, own_fchownat, When::kAtOnce),
      replacement("utimensat", real.utimensat, own_utimensat, When::kAtOnce),
      replacement("futimens", real.futimens, own_futimens, When::kFirstFile),
      replacement("utimes", real.utimes, own_utimes, When::kAtOnce),
      replacement("utime", real.utime, own_utime, When::kAtOnce),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
