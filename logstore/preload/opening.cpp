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
#include "logstore/preload/closing.h"
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

// What of the flags concerns the kernel, of a descriptor of the container's handle.
constexpr int kHandleFlags =
    O_ACCMODE | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_SYNC | O_NOATIME | O_PATH;

int open_handle(int directory, int flags) {
  const int handle = openat(directory, kHandleName, flags & kHandleFlags);
  if (handle >= 0 || errno != ENOENT) return result_of(handle);
  return result_of(openat(directory, kDescriptionName, flags & kHandleFlags));
}

// The descriptor is the program's from now on. -errno, or `fd`.
int enter(int fd, std::shared_ptr<LoggedFile> file, int flags) {
  file->refresh();
  take_in_past_writes(*file, fd);
  return enter_descriptor(fd, std::move(file), flags) ? fd : -EMFILE;
}

// open(2) of a container that was found at `path`. -errno, or a descriptor.
int open_container(const std::string& path, FoundContainer&& found, int flags) {
  if ((flags & O_DIRECTORY) != 0) return -ENOTDIR;
  const int fd = open_handle(found.directory.get(), flags);
  if (fd < 0 || (flags & O_PATH) != 0) return fd;
  std::shared_ptr<LoggedFile> file;
  int wrong = LoggedFile::open(path, std::move(found), store_options(), file);
  if (wrong == 0 && (flags & O_TRUNC) != 0) {
    wrong = file->truncate(0);
    if (wrong == 0) cut_past_writes(*file, 0);
  }
  if (wrong == 0) wrong = enter(fd, std::move(file), flags);
  if (wrong >= 0) note_opened(path);
  if (wrong < 0) close(fd);
  return wrong < 0 ? wrong : fd;
}

// open(2) that makes the file. Its mode may forbid what its maker may do.
int make_and_open(const std::string& path, int flags, mode_t mode) {
  Descriptor handle;
  std::shared_ptr<LoggedFile> file;
  const int wrong = LoggedFile::make(path, mode & 0777 & ~current_umask(), store_options(),
                                     flags & kHandleFlags, handle, file);
  if (wrong != 0) return wrong;
  const int fd = handle.get();
  const int entered = enter(fd, std::move(file), flags & ~(O_TRUNC | O_EXCL));
  if (entered >= 0) {
    handle.release();
    note_opened(path);
  }
  return entered;
}

// Is there something at `path` that is no directory, such as a link that leads nowhere?
bool is_other_file(const std::string& path) {
  struct stat status {};
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISDIR(status.st_mode);
}

// Nothing: the file is not the log store's. Else a descriptor, or -errno.
std::optional<int> open_logged(int at, const char* path, int flags, mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return std::nullopt;
  if (const int fd = descriptor_named(path); is_logged(fd)) {
    const std::string handle = path_of_descriptor(fd);
    const std::string named = handle.substr(0, handle.rfind('/'));
    FoundContainer found;
    const int wrong = find_container(named.c_str(), true, found);
    return wrong != 0 ? wrong : open_container(named, std::move(found), flags);
  }
  const std::optional<std::string> below = path_below(at, path);
  if (!below) return std::nullopt;
  const bool follows = (flags & O_NOFOLLOW) == 0;
  const bool creates = (flags & O_CREAT) != 0 && (flags & O_PATH) == 0;
  for (int tries = 0; tries < 16; ++tries) {
    FoundContainer found;
    const int wrong = find_container(below->c_str(), follows, found);
    // A directory that may be searched and not listed is one all the same.
    const bool is_there =
        wrong == 0 || (wrong == -EACCES && is_container(AT_FDCWD, below->c_str(), follows));
    if (is_there) {
      if (creates && (flags & O_EXCL) != 0) return -EEXIST;
      if (wants_directory(path)) return creates ? -EISDIR : -ENOTDIR;
      return wrong != 0 ? wrong : open_container(*below, std::move(found), flags);
    }
    if (tries == 0 && is_in_container(*below)) return -ENOTDIR;
    if (wrong != -ENOENT || !creates || wants_directory(path) || stays_ordinary(*below)) {
      return std::nullopt;
    }
    const int made = make_and_open(*below, flags, mode);
    if (made != -EEXIST) return made;
    if (is_other_file(*below)) return std::nullopt;
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
