// The calls by which an MPI library asks for its file by name. Who makes them is known by the mark
// that the running call on an MPI file has left (path_of_call()): nobody else's come here.
#include "logstore/preload/named_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "logstore/format.h"
#include "logstore/preload/closing.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"

namespace iotune::logstore {
namespace {

// Files that a single rank opens have nobody to share them with.
constexpr int kFewestRanks = 2;

// No call tells it without changing it for other threads.
mode_t current_umask() {
  const Descriptor file(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  char text[4096] = "";
  const ssize_t size = file ? read(file.get(), text, sizeof text - 1) : -1;
  const char* const line = size <= 0 ? nullptr : std::strstr(text, "\nUmask:");
  return line == nullptr ? 022 : static_cast<mode_t>(std::strtoul(line + 7, nullptr, 8));
}

// What of the flags concerns the kernel, of a descriptor of the container's handle.
constexpr int kHandleFlags = O_ACCMODE | O_CLOEXEC | O_NONBLOCK | O_SYNC | O_NOATIME;

// The descriptor is the library's from now on. -errno, or `fd`.
int enter(int fd, std::shared_ptr<LoggedFile> file, int flags) {
  file->refresh();
  return enter_descriptor(fd, std::move(file), flags) ? fd : -EMFILE;
}

// open(2) of a container that was found at `path`. -errno, or a descriptor.
int open_container(const std::string& path, FoundContainer&& found, int flags) {
  Descriptor handle(openat(found.directory.get(), kHandleName, flags & kHandleFlags));
  if (!handle) return -errno;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::open(path, std::move(found), store_options(), file);
  if (wrong == 0 && (flags & O_TRUNC) != 0) wrong = file->truncate(0);
  if (wrong == 0) wrong = enter(handle.get(), std::move(file), flags);
  if (wrong < 0) return wrong;
  note_opened(path);
  return handle.release();
}

// open(2) that makes the file. Its mode may forbid what its maker may do.
int make_and_open(const std::string& path, int flags, mode_t mode) {
  Descriptor handle;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::make(path, mode & 0777 & ~current_umask(), store_options(),
                               flags & kHandleFlags, handle, file);
  if (wrong == 0) wrong = enter(handle.get(), std::move(file), flags & ~(O_TRUNC | O_EXCL));
  if (wrong < 0) return wrong;
  note_opened(path);
  return handle.release();
}

// Is there something at `path` that is no directory, such as a link that leads nowhere?
bool is_other_file(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

// Nothing: the file is not the log store's. Else a descriptor, or -errno.
std::optional<int> open_logged(const char* path, int flags, mode_t mode) {
  // No MPI library asks so. O_TMPFILE has a bit of O_DIRECTORY.
  constexpr int kOthers = O_PATH | O_DIRECTORY | O_APPEND;
  const auto below = (flags & kOthers) != 0 ? std::nullopt : path_of_call(path);
  if (!below) return std::nullopt;
  const bool creates = (flags & O_CREAT) != 0;
  const bool makes = creates && g_host->mpi_call().ranks >= kFewestRanks;
  for (int tries = 0; tries < 16; ++tries) {
    FoundContainer found;
    const int wrong = find_container(below->c_str(), (flags & O_NOFOLLOW) == 0, found);
    // A directory that may be searched and not listed is one all the same.
    if (wrong == 0 || (wrong == -EACCES && is_container(AT_FDCWD, below->c_str()))) {
      if (creates && (flags & O_EXCL) != 0) return -EEXIST;
      return wrong != 0 ? wrong : open_container(*below, std::move(found), flags);
    }
    if (wrong != -ENOENT || !makes) return std::nullopt;
    const int made = make_and_open(*below, flags, mode);
    if (made != -EEXIST) return made;
    if (is_other_file(*below)) return std::nullopt;
  }
  return -EBUSY;
}

int own_open(const char* path, int flags, ...) noexcept {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  return by_name([=] { return open_logged(path, flags, mode); },
                 [=] { return real.open(path, flags, mode); });
}
// The form that FORTIFY calls; it never makes a file.
int own_open_2(const char* path, int flags) noexcept {
  return own_open(path, flags);
}

// The container that `path` names, if this call is about it.
std::optional<std::string> container_of_call(const char* path, bool follows) {
  std::optional<std::string> below = path_of_call(path);
  if (!below || !is_container(AT_FDCWD, below->c_str(), follows)) return std::nullopt;
  return below;
}

std::optional<int> status_of(const char* path, struct stat* to, bool follows) {
  const auto container = container_of_call(path, follows);
  if (!container) return std::nullopt;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::open(*container, store_options(), file);
  if (wrong == 0) wrong = file->refresh();
  return wrong != 0 ? wrong : file->status(*to);
}
int own_stat(const char* path, struct stat* to) noexcept {
  return by_name([=] { return status_of(path, to, true); }, [=] { return real.stat(path, to); });
}
int own_lstat(const char* path, struct stat* to) noexcept {
  return by_name([=] { return status_of(path, to, false); }, [=] { return real.lstat(path, to); });
}
int own_xstat(int version, const char* path, struct stat* to) noexcept {
  return by_name([=] { return status_of(path, to, true); },
                 [=] { return real.xstat(version, path, to); });
}
int own_lxstat(int version, const char* path, struct stat* to) noexcept {
  return by_name([=] { return status_of(path, to, false); },
                 [=] { return real.lxstat(version, path, to); });
}

int own_access(const char* path, int mode) noexcept {
  return by_name(
      [=]() -> std::optional<int> {
        const auto container = container_of_call(path, true);
        if (!container) return std::nullopt;
        const std::string handle = *container + "/" + kHandleName;
        return result_of(faccessat(AT_FDCWD, handle.c_str(), mode, 0));
      },
      [=] { return real.access(path, mode); });
}

// Files are removed by libc as ever: only what turns out to be a directory is looked at.
int own_unlink(const char* path) noexcept {
  return by_name(
      [=]() -> std::optional<int> {
        const int removed = result_of(real.unlink(path));
        if (removed != -EISDIR && removed != -EPERM) return removed;
        const auto container = container_of_call(path, false);
        return container ? remove_container(*container) : removed;
      },
      [=] { return real.unlink(path); });
}

std::optional<int> renamed(const char* from, const char* to) {
  const auto container = container_of_call(from, false);
  if (!container) return std::nullopt;
  return rename_container(*container, to, 0);
}
int own_rename(const char* from, const char* to) noexcept {
  return by_name([=] { return renamed(from, to); }, [=] { return real.rename(from, to); });
}

}  // namespace

bool takes(const char* path) noexcept {
  const MpiCall call = g_host->mpi_call();
  if (!call.is_running) return false;
  const Inside inside;
  const int kept = errno;
  bool is = false;
  try {
    const auto below = path_of_call(path);
    is = below && (call.ranks >= kFewestRanks || is_container(AT_FDCWD, below->c_str()));
  } catch (...) {  // no memory
  }
  errno = kept;
  return is;
}

// statfs(2) says the same of a container as of a file.
Replacements replaced_names() noexcept {
  static const Replacement kList[] = {
      replacement("open", real.open, own_open),
      replacement("open64", real.open, own_open),
      replacement("__open_2", real.unused, own_open_2),
      replacement("__open64_2", real.unused, own_open_2),
      replacement("stat", real.stat, own_stat),
      replacement("stat64", real.stat, own_stat),
      replacement("lstat", real.lstat, own_lstat),
      replacement("lstat64", real.lstat, own_lstat),
      replacement("__xstat", real.xstat, own_xstat),
      replacement("__xstat64", real.xstat, own_xstat),
      replacement("__lxstat", real.lxstat, own_lxstat),
      replacement("__lxstat64", real.lxstat, own_lxstat),
      replacement("access", real.access, own_access),
      replacement("unlink", real.unlink, own_unlink),
      replacement("rename", real.rename, own_rename),
  };
  return kList;
}

}  // namespace iotune::logstore
