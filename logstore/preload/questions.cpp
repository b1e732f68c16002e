// Calls that ask about names: status, access, directories.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "logstore/format.h"
#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/names.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/standard_descriptors.h"
#include "logstore/preload/store_options.h"
#include "logstore/store/logged_file.h"

namespace iotune::logstore {
namespace {

std::optional<int> status_of_descriptor(int fd, struct stat* to) {
  const Held file(fd);
  if (!file) return std::nullopt;
  return file->file->status(*to);
}

std::optional<int> status_of_path(int at, const char* path, struct stat* to, bool follows) {
  if (follows) {
    if (const auto asked = status_of_descriptor(descriptor_named(path), to)) return asked;
  }
  const auto below = path_below(at, path);
  if (!below) return std::nullopt;
  if (is_in_container(*below)) return -ENOTDIR;
  if (!is_container(AT_FDCWD, below->c_str(), follows)) return std::nullopt;
  if (wants_directory(path)) return -ENOTDIR;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::open(*below, store_options(), file);
  if (wrong == 0) wrong = file->refresh();
  if (wrong == 0) take_in_past_writes(*file);
  return wrong != 0 ? wrong : file->status(*to);
}

std::optional<int> status_at(int at, const char* path, struct stat* to, int flags) {
  if (path != nullptr && path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
    return status_of_descriptor(at, to);
  }
  return status_of_path(at, path, to, (flags & AT_SYMLINK_NOFOLLOW) == 0);
}

int own_stat(const char* path, struct stat* to) noexcept {
  return guarded([&] { return status_of_path(AT_FDCWD, path, to, true); },
                 [&] { return real.stat(path, to); });
}
int own_lstat(const char* path, struct stat* to) noexcept {
  return guarded([&] { return status_of_path(AT_FDCWD, path, to, false); },
                 [&] { return real.lstat(path, to); });
}
int own_fstat(int fd, struct stat* to) noexcept {
  if (!is_logged(fd)) return real.fstat(fd, to);
  return guarded([&] { return status_of_descriptor(fd, to); }, [&] { return real.fstat(fd, to); });
}
int own_fstatat(int at, const char* path, struct stat* to, int flags) noexcept {
  return guarded([&] { return status_at(at, path, to, flags); },
                 [&] { return real.fstatat(at, path, to, flags); });
}
int own_xstat(int version, const char* path, struct stat* to) noexcept {
  return guarded([&] { return status_of_path(AT_FDCWD, path, to, true); },
                 [&] { return real.xstat(version, path, to); });
}
int own_lxstat(int version, const char* path, struct stat* to) noexcept {
  return guarded([&] { return status_of_path(AT_FDCWD, path, to, false); },
                 [&] { return real.lxstat(version, path, to); });
}
int own_fxstat(int version, int fd, struct stat* to) noexcept {
  if (!is_logged(fd)) return real.fxstat(version, fd, to);
  return guarded([&] { return status_of_descriptor(fd, to); },
                 [&] { return real.fxstat(version, fd, to); });
}
int own_fxstatat(int version, int at, const char* path, struct stat* to, int flags) noexcept {
  return guarded([&] { return status_at(at, path, to, flags); },
                 [&] { return real.fxstatat(version, at, path, to, flags); });
}

// The handle's own, with the file's size and blocks.
int own_statx(int at, const char* path, int flags, unsigned mask, struct statx* to) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        struct stat status {};
        const std::optional<int> asked = status_at(at, path, &status, flags);
        if (!asked || *asked != 0) return asked;
        const bool by_descriptor = path[0] == '\0';
        // /dev/fd/3 leads to the handle by itself.
        const bool is_handle = by_descriptor || is_logged(descriptor_named(path));
        const std::string handle = is_handle ? path : handle_of(*path_below(at, path));
        const int how = (flags & ~AT_SYMLINK_NOFOLLOW) | (by_descriptor ? AT_EMPTY_PATH : 0);
        if (syscall(SYS_statx, at, handle.c_str(), how, mask, to) != 0) return -errno;
        to->stx_size = static_cast<std::uint64_t>(status.st_size);
        to->stx_blocks = static_cast<std::uint64_t>(status.st_blocks);
        to->stx_mtime.tv_sec = status.st_mtim.tv_sec;
        to->stx_mtime.tv_nsec = static_cast<unsigned>(status.st_mtim.tv_nsec);
        to->stx_ctime.tv_sec = status.st_ctim.tv_sec;
        to->stx_ctime.tv_nsec = static_cast<unsigned>(status.st_ctim.tv_nsec);
        return 0;
      },
      [&] { return real.statx(at, path, flags, mask, to); });
}

std::optional<int> access_asked(int at, const char* path, int mode, int flags) {
  const auto below = path_below(at, path);
  if (!below) return std::nullopt;
  if (is_in_container(*below)) return -ENOTDIR;
  if (!is_container(AT_FDCWD, below->c_str(), (flags & AT_SYMLINK_NOFOLLOW) == 0)) {
    return std::nullopt;
  }
  if (wants_directory(path)) return -ENOTDIR;
  return result_of(
      faccessat(AT_FDCWD, handle_of(*below).c_str(), mode, flags & ~AT_SYMLINK_NOFOLLOW));
}
int own_access(const char* path, int mode) noexcept {
  return guarded([&] { return access_asked(AT_FDCWD, path, mode, 0); },
                 [&] { return real.access(path, mode); });
}
int own_faccessat(int at, const char* path, int mode, int flags) noexcept {
  return guarded([&] { return access_asked(at, path, mode, flags); },
                 [&] { return real.faccessat(at, path, mode, flags); });
}

bool names_container(const char* path) noexcept {
  try {
    return container_at(AT_FDCWD, path, true).has_value();
  } catch (...) {
    return false;
  }
}

DIR* own_opendir(const char* path) noexcept {
  const Inside inside;
  if (inside.nested() || !names_container(path)) return real.opendir(path);
  errno = ENOTDIR;
  return nullptr;
}

int own_chdir(const char* path) noexcept {
  return guarded(
      [&]() -> std::optional<int> {
        if (!container_at(AT_FDCWD, path, true)) return std::nullopt;
        return -ENOTDIR;
      },
      [&] { return real.chdir(path); });
}

// A container is a regular file to who lists its directory.
dirent* own_readdir(DIR* directory) noexcept {
  const Inside inside;
  dirent* const entry = real.readdir(directory);
  if (inside.nested() || entry == nullptr) return entry;
  if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) return entry;
  const int kept = errno;
  const int at = dirfd(directory);
  try {
    const bool steps =
        std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
    // Elsewhere nothing is looked into: it may be a place that is mounted by that.
    const auto below = steps ? std::nullopt : path_below(at, entry->d_name);
    if (below) {
      if (is_container(at, entry->d_name, false)) {
        struct stat status {};
        entry->d_type = DT_REG;
        if (stat(handle_of(*below).c_str(), &status) == 0) entry->d_ino = status.st_ino;
      }
    }
  } catch (...) {  // no memory: it is shown as what it is
  }
  errno = kept;
  return entry;
}

}  // namespace

Replacements replaced_questions() noexcept {
  static const Replacement kList[] = {
      replacement("stat", real.stat, own_stat, When::kAtOnce),
      replacement("stat64", real.stat, own_stat, When::kAtOnce),
      replacement("lstat", real.lstat, own_lstat, When::kAtOnce),
      replacement("lstat64", real.lstat, own_lstat, When::kAtOnce),
      replacement("fstat", real.fstat, own_fstat, When::kFirstFile),
      replacement("fstat64", real.fstat, own_fstat, When::kFirstFile),
      replacement("fstatat", real.fstatat, own_fstatat, When::kAtOnce),
      replacement("fstatat64", real.fstatat, own_fstatat, When::kAtOnce),
      replacement("__xstat", real.xstat, own_xstat, When::kAtOnce),
      replacement("__xstat64", real.xstat, own_xstat, When::kAtOnce),
      replacement("__lxstat", real.lxstat, own_lxstat, When::kAtOnce),
      replacement("__lxstat64", real.lxstat, own_lxstat, When::kAtOnce),
      replacement("__fxstat", real.fxstat, own_fxstat, When::kFirstFile),
      replacement("__fxstat64", real.fxstat, own_fxstat, When::kFirstFile),
      replacement("__fxstatat", real.fxstatat, own_fxstatat, When::kAtOnce),
      replacement("__fxstatat64", real.fxstatat, own_fxstatat, When::kAtOnce),
      replacement("statx", real.statx, own_statx, When::kAtOnce),
      replacement("access", real.access, own_access, When::kAtOnce),
      replacement("faccessat", real.faccessat, own_faccessat, When::kAtOnce),
      replacement("opendir", real.opendir, own_opendir, When::kAtOnce),
      replacement("readdir", real.readdir, own_readdir, When::kAtOnce),
      replacement("readdir64", real.readdir, own_readdir, When::kAtOnce),
      replacement("chdir", real.chdir, own_chdir, When::kAtOnce),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
