// Calls that open files by their names.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "logstore/format.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/names.h"
#include "logstore/preload/prefixes.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/standard_descriptors.h"
#include "logstore/preload/store_options.h"
#include "logstore/preload/streams.h"

namespace iotune::logstore {
namespace {

// No call tells it without changing it for other threads.
mode_t current_umask() {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> text{};
  const ssize_t size = fd < 0 ? -1 : read(fd, text.data(), text.size() - 1);
  if (fd >= 0) close(fd);
  const char* const line = size <= 0 ? nullptr : std::strstr(text.data(), "\nUmask:");
  return line == nullptr ? 022 : static_cast<mode_t>(std::strtoul(line + 7, nullptr, 8));
}

// A descriptor of the container's handle with what of the flags concerns the kernel.
int open_handle(const std::string& path, int flags) {
  constexpr int kKept = O_ACCMODE | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_SYNC | O_NOATIME | O_PATH;
  return result_of(open(handle_of(path).c_str(), flags & kKept));
}

// open(2) of a container. -errno, or a descriptor.
int open_container(const std::string& path, int flags) {
  if ((flags & O_DIRECTORY) != 0) return -ENOTDIR;
  const int fd = open_handle(path, flags);
  if (fd < 0 || (flags & O_PATH) != 0) return fd;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::open(path, store_options(), file);
  if (wrong == 0 && (flags & O_TRUNC) != 0) {
    wrong = file->truncate(0);
    if (wrong == 0) cut_past_writes(*file, 0);
  }
  if (wrong == 0) {
    file->refresh();
    take_in_past_writes(*file);
    if (!enter_descriptor(fd, std::move(file), flags)) wrong = -EMFILE;
  }
  if (wrong == 0) return fd;
  close(fd);
  return wrong;
}

// As open_container(), made just before: its mode may forbid what its maker may do.
int open_made(const std::string& path, int flags, mode_t mode) {
  const int fd = open_container(path, flags & ~(O_TRUNC | O_EXCL));
  if (fd >= 0) fchmod(fd, mode);
  return fd;
}

// Nothing: the file is not the log store's. Else a descriptor, or -errno.
std::optional<int> open_logged(int at, const char* path, int flags, mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return std::nullopt;
  if (const int fd = descriptor_named(path); is_logged(fd)) {
    const std::string handle = path_of_descriptor(fd);
    return open_container(handle.substr(0, handle.rfind('/')), flags);
  }
  const std::optional<std::string> below = path_below(at, path);
  if (!below) return std::nullopt;
  if (is_in_container(*below)) return -ENOTDIR;
  for (int tries = 0; tries < 16; ++tries) {
    if (is_container(AT_FDCWD, below->c_str(), (flags & O_NOFOLLOW) == 0)) {
      if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
      if (wants_directory(path)) return (flags & O_CREAT) != 0 ? -EISDIR : -ENOTDIR;
      return open_container(*below, flags);
    }
    struct stat status {};
    const bool is_there = fstatat(AT_FDCWD, below->c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there || errno != ENOENT || (flags & O_CREAT) == 0 || wants_directory(path) ||
        stays_ordinary(*below)) {
      return std::nullopt;
    }
    const mode_t allowed = mode & 0777 & ~current_umask();
    const int made = LoggedFile::make(*below, allowed | S_IRUSR | S_IWUSR);
    if (made == 0) return open_made(*below, flags, allowed);
    if (made != -EEXIST) return made;
  }
  return -EBUSY;
}

template <typename Call>
int opened(int at, const char* path, int flags, mode_t mode, Call call) noexcept {
  const Inside inside;
  if (inside.nested() || g_host->in_vfork_child()) return call();
  const int kept = errno;
  std::optional<int> fd;
  try {
    fd = open_logged(at, path, flags, mode);
  } catch (...) {
    fd = -ENOMEM;
  }
  errno = kept;
  return fd ? answer(*fd) : call();
}

bool takes_mode(int flags) noexcept {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int do_openat(int at, const char* path, int flags, mode_t mode) noexcept {
  return opened(at, path, flags, mode, [=] { return real.openat(at, path, flags, mode); });
}

int own_open(const char* path, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return opened(AT_FDCWD, path, flags, mode, [=] { return real.open(path, flags, mode); });
}

int own_openat(int at, const char* path, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return do_openat(at, path, flags, mode);
}

// The forms that FORTIFY calls; they never make a file.
int own_open_2(const char* path, int flags) noexcept {
  return own_open(path, flags);
}
int own_openat_2(int at, const char* path, int flags) noexcept {
  return own_openat(at, path, flags);
}

int own_creat(const char* path, mode_t mode) noexcept {
  return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode,
                [=] { return real.creat(path, mode); });
}

// -1: no mode that libc knows.
int flags_of(const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  int flags = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (mode[0] == '\0' || std::strchr("rwa", mode[0]) == nullptr) return -1;
  // Behind a comma stands the name of a character set.
  for (const char* at = mode + 1; *at != '\0' && *at != ','; ++at) {
    if (*at == 'x') flags |= O_EXCL;
    if (*at == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

FILE* own_fopen(const char* path, const char* mode) noexcept {
  const Inside inside;
  if (inside.nested() || mode == nullptr || g_host->in_vfork_child()) {
    return real.fopen(path, mode);
  }
  const int flags = flags_of(mode);
  if (flags < 0) return real.fopen(path, mode);
  const int kept = errno;
  std::optional<int> fd;
  try {
    fd = open_logged(AT_FDCWD, path, flags, 0666);
  } catch (...) {
    fd = -ENOMEM;
  }
  errno = kept;
  if (!fd) return real.fopen(path, mode);
  return answer(*fd) < 0 ? nullptr : stream_of(*fd, mode);
}

// By another name, or by the same in another mode. libc cannot make a stream of its own kind one
// of ours: that is refused.
FILE* own_freopen(const char* path, const char* mode, FILE* stream) noexcept {
  const Inside inside;
  const bool was_logged = is_logged(fileno_unlocked(stream));
  const bool will_be = path == nullptr ? was_logged : is_below_prefix(path);
  if (inside.nested() || !will_be || mode == nullptr) return real.freopen(path, mode, stream);
  const int flags = flags_of(mode);
  std::optional<int> fd;
  try {
    std::string again;
    if (path == nullptr) {
      const std::string handle = path_of_descriptor(fileno_unlocked(stream));
      again = handle.substr(0, handle.rfind('/'));
      path = again.c_str();
    }
    fd = flags < 0 ? -EINVAL : open_logged(AT_FDCWD, path, flags, 0666);
  } catch (...) {
    fd = -ENOMEM;
  }
  if (!fd) return real.freopen(path, mode, stream);  // an ordinary file below a prefix
  if (*fd >= 0 && !was_logged) {
    leave_descriptor(*fd);
    close(*fd);
    g_host->say_on_any_rank(
        "freopen() cannot lead a stream to a file that is kept as logs: open it with fopen()");
    fd = -ENOTSUP;
  }
  if (answer(*fd) < 0 || !move_stream(stream, *fd, mode)) return nullptr;
  return stream;
}

FILE* own_fdopen(int fd, const char* mode) noexcept {
  const Inside inside;
  if (inside.nested() || mode == nullptr || !is_logged(fd)) return real.fdopen(fd, mode);
  return stream_of(fd, mode);
}

}  // namespace

Replacements replaced_opens() noexcept {
  static const Replacement kList[] = {
      replacement("open", real.open, own_open, When::kAtOnce),
      replacement("open64", real.open, own_open, When::kAtOnce),
      replacement("__open_2", real.unused, own_open_2, When::kAtOnce),
      replacement("__open64_2", real.unused, own_open_2, When::kAtOnce),
      replacement("openat", real.openat, own_openat, When::kAtOnce),
      replacement("openat64", real.openat, own_openat, When::kAtOnce),
      replacement("__openat_2", real.unused, own_openat_2, When::kAtOnce),
      replacement("__openat64_2", real.unused, own_openat_2, When::kAtOnce),
      replacement("creat", real.creat, own_creat, When::kAtOnce),
      replacement("creat64", real.creat, own_creat, When::kAtOnce),
      replacement("fopen", real.fopen, own_fopen, When::kAtOnce),
      replacement("fopen64", real.fopen, own_fopen, When::kAtOnce),
      replacement("freopen", real.freopen, own_freopen, When::kAtOnce),
      replacement("freopen64", real.freopen, own_freopen, When::kAtOnce),
      replacement("fdopen", real.fdopen, own_fdopen, When::kAtOnce),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
