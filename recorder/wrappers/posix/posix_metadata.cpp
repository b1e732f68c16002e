// Wrappers of the POSIX calls that ask of files or change what is said of them: names, sizes,
// owners, times. No header declares them here: glibc's names for one call have several forms.
#include <cerrno>
#include <cstddef>

#include "core/os/raw_syscall.h"
#include "core/process/working_directory.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_changes.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

// `asks`: the call changes nothing, and may be made by a slice of the program that runs ahead;
// parameters and arguments in parentheses; then the numbers that are recorded
#define IOTUNE_PATHS(asks, result, name, number, parameters, arguments, directory, path, \
                     second_directory, second, ...)                                      \
  IOTUNE_EXPORT result name parameters noexcept {                                        \
    IOTUNE_REAL(result(*) parameters, name);                                             \
    if (real == nullptr) return no_such_call();                                          \
    if (!(asks) && t_thread.runs_ahead != 0) return not_in_slice();                      \
    PathCall call(directory, path, second_directory, second);                            \
    const result done = real arguments;                                                  \
    call.made(CallNumber::k##number __VA_OPT__(, ) __VA_ARGS__, done);                   \
    return done;                                                                         \
  }
#define IOTUNE_PATH(result, name, number, parameters, arguments, ...)                     \
  IOTUNE_PATHS(true, result, name, number, parameters, arguments, raw::kAtFdcwd, path, 0, \
               nullptr __VA_OPT__(, ) __VA_ARGS__)
#define IOTUNE_CHANGE(name, number, parameters, arguments, ...)                         \
  IOTUNE_PATHS(false, int, name, number, parameters, arguments, raw::kAtFdcwd, path, 0, \
               nullptr __VA_OPT__(, ) __VA_ARGS__)
// The directory is recorded as a number in front.
#define IOTUNE_PATH_AT(result, name, number, parameters, arguments, ...)                       \
  IOTUNE_PATHS(true, result, name, number, parameters, arguments, directory, path, 0, nullptr, \
               directory __VA_OPT__(, ) __VA_ARGS__)
#define IOTUNE_CHANGE_AT(name, number, parameters, arguments, ...)                           \
  IOTUNE_PATHS(false, int, name, number, parameters, arguments, directory, path, 0, nullptr, \
               directory __VA_OPT__(, ) __VA_ARGS__)

IOTUNE_PATH(int, stat, stat, (const char* path, void* status), (path, status))
IOTUNE_PATH(int, stat64, stat, (const char* path, void* status), (path, status))
IOTUNE_PATH(int, __xstat, stat, (int version, const char* path, void* status),
            (version, path, status))
IOTUNE_PATH(int, __xstat64, stat, (int version, const char* path, void* status),
            (version, path, status))
IOTUNE_PATH(int, lstat, lstat, (const char* path, void* status), (path, status))
IOTUNE_PATH(int, lstat64, lstat, (const char* path, void* status), (path, status))
IOTUNE_PATH(int, __lxstat, lstat, (int version, const char* path, void* status),
            (version, path, status))
IOTUNE_PATH(int, __lxstat64, lstat, (int version, const char* path, void* status),
            (version, path, status))
IOTUNE_PATH_AT(int, fstatat, fstatat, (int directory, const char* path, void* status, int flags),
               (directory, path, status, flags), flags)
IOTUNE_PATH_AT(int, fstatat64, fstatat, (int directory, const char* path, void* status, int flags),
               (directory, path, status, flags), flags)
IOTUNE_PATH_AT(int, __fxstatat, fstatat,
               (int version, int directory, const char* path, void* status, int flags),
               (version, directory, path, status, flags), flags)
IOTUNE_PATH_AT(int, __fxstatat64, fstatat,
               (int version, int directory, const char* path, void* status, int flags),
               (version, directory, path, status, flags), flags)
IOTUNE_PATH_AT(int, statx, statx,
               (int directory, const char* path, int flags, unsigned mask, void* status),
               (directory, path, flags, mask, status), flags, mask)
IOTUNE_PATH(int, access, access, (const char* path, int mode), (path, mode), mode)
IOTUNE_PATH_AT(int, faccessat, faccessat, (int directory, const char* path, int mode, int flags),
               (directory, path, mode, flags), mode, flags)

IOTUNE_CHANGE(unlink, unlink, (const char* path), (path))
IOTUNE_CHANGE_AT(unlinkat, unlinkat, (int directory, const char* path, int flags),
                 (directory, path, flags), flags)
IOTUNE_CHANGE(remove, remove, (const char* path), (path))
IOTUNE_CHANGE(mkdir, mkdir, (const char* path, unsigned mode), (path, mode), mode)
IOTUNE_CHANGE_AT(mkdirat, mkdirat, (int directory, const char* path, unsigned mode),
                 (directory, path, mode), mode)
IOTUNE_CHANGE(rmdir, rmdir, (const char* path), (path))
IOTUNE_CHANGE(mkfifo, mkfifo, (const char* path, unsigned mode), (path, mode), mode)
IOTUNE_CHANGE(mknod, mknod, (const char* path, unsigned mode, unsigned long device),
              (path, mode, device), mode, device)
IOTUNE_EXPORT int chdir(const char* path) noexcept {
  IOTUNE_REAL(int (*)(const char*), chdir);
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  const int done = real(path);
  call.made(CallNumber::kchdir, done);
  if (done == 0) working_directory_changed(path);
  return done;
}
IOTUNE_EXPORT int fchdir(int directory) noexcept {
  IOTUNE_REAL(int (*)(int), fchdir);
  const int done = real(directory);
  if (done == 0) working_directory_changed(nullptr);
  return done;
}

#define IOTUNE_TRUNCATE(name)                                             \
  IOTUNE_EXPORT int name(const char* path, std::int64_t bytes) noexcept { \
    IOTUNE_REAL(int (*)(const char*, std::int64_t), name);                \
    if (t_thread.runs_ahead != 0) return not_in_slice();                  \
    PathCall call(raw::kAtFdcwd, path, 0, nullptr);                       \
    const PathChange change(raw::kAtFdcwd, path);                         \
    const int done = real(path, bytes);                                   \
    call.made(CallNumber::ktruncate, bytes, done);                        \
    return done;                                                          \
  }
IOTUNE_TRUNCATE(truncate)
IOTUNE_TRUNCATE(truncate64)
IOTUNE_CHANGE(chmod, chmod, (const char* path, unsigned mode), (path, mode), mode)
IOTUNE_CHANGE_AT(fchmodat, fchmodat, (int directory, const char* path, unsigned mode, int flags),
                 (directory, path, mode, flags), mode, flags)
IOTUNE_CHANGE(chown, chown, (const char* path, unsigned user, unsigned group), (path, user, group),
              user, group)
IOTUNE_CHANGE(lchown, lchown, (const char* path, unsigned user, unsigned group),
              (path, user, group), user, group)
IOTUNE_CHANGE_AT(fchownat, fchownat,
                 (int directory, const char* path, unsigned user, unsigned group, int flags),
                 (directory, path, user, group, flags), user, group, flags)
IOTUNE_CHANGE(utime, utime, (const char* path, const void* times), (path, times))
IOTUNE_CHANGE(utimes, utimes, (const char* path, const void* times), (path, times))
IOTUNE_CHANGE_AT(utimensat, utimensat,
                 (int directory, const char* path, const void* times, int flags),
                 (directory, path, times, flags), flags)

IOTUNE_PATH(ssize_t, readlink, readlink, (const char* path, char* buffer, std::size_t size),
            (path, buffer, size), size)
IOTUNE_PATH_AT(ssize_t, readlinkat, readlinkat,
               (int directory, const char* path, char* buffer, std::size_t size),
               (directory, path, buffer, size), size)
// The target is text: what is at its end is not asked for.
IOTUNE_EXPORT int symlink(const char* target, const char* path) noexcept {
  IOTUNE_REAL(int (*)(const char*, const char*), symlink);
  if (t_thread.runs_ahead != 0) return not_in_slice();
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  call.text_in_front(target);
  const int done = real(target, path);
  call.made(CallNumber::ksymlink, done);
  return done;
}
IOTUNE_EXPORT int symlinkat(const char* target, int directory, const char* path) noexcept {
  IOTUNE_REAL(int (*)(const char*, int, const char*), symlinkat);
  if (t_thread.runs_ahead != 0) return not_in_slice();
  PathCall call(directory, path, 0, nullptr);
  call.text_in_front(target);
  const int done = real(target, directory, path);
  call.made(CallNumber::ksymlinkat, directory, done);
  return done;
}

#define IOTUNE_TWO_PATHS(name, parameters, arguments, directory, second_directory, ...)          \
  IOTUNE_PATHS(false, int, name, name, parameters, arguments, directory, path, second_directory, \
               second __VA_OPT__(, ) __VA_ARGS__)
IOTUNE_TWO_PATHS(rename, (const char* path, const char* second), (path, second), raw::kAtFdcwd,
                 raw::kAtFdcwd)
IOTUNE_TWO_PATHS(renameat, (int from, const char* path, int to, const char* second),
                 (from, path, to, second), from, to, from, to)
IOTUNE_TWO_PATHS(renameat2,
                 (int from, const char* path, int to, const char* second, unsigned flags),
                 (from, path, to, second, flags), from, to, from, to, flags)
IOTUNE_TWO_PATHS(link, (const char* path, const char* second), (path, second), raw::kAtFdcwd,
                 raw::kAtFdcwd)
IOTUNE_TWO_PATHS(linkat, (int from, const char* path, int to, const char* second, int flags),
                 (from, path, to, second, flags), from, to, from, to, flags)

// On a descriptor, the first of `parameters`. `refused`: in a slice that runs ahead it returns
// `refusal`.
#define IOTUNE_ON_DESCRIPTOR(refused, refusal, result, name, number, parameters, arguments, ...) \
  IOTUNE_EXPORT result name parameters noexcept {                                                \
    IOTUNE_REAL(result(*) parameters, name);                                                     \
    if (real == nullptr) return no_such_call();                                                  \
    if ((refused) && t_thread.runs_ahead != 0) return refusal;                                   \
    return traced_call<Layer::kPosix, result>(CallNumber::k##number, fd, file_of_descriptor(fd), \
                                              [=] { return real arguments; } __VA_OPT__(, )      \
                                                  __VA_ARGS__);                                  \
  }
#define IOTUNE_DESCRIPTOR(...) IOTUNE_ON_DESCRIPTOR(false, -1, __VA_ARGS__)
IOTUNE_DESCRIPTOR(int, fstat, fstat, (int fd, void* status), (fd, status))
IOTUNE_DESCRIPTOR(int, fstat64, fstat, (int fd, void* status), (fd, status))
IOTUNE_DESCRIPTOR(int, __fxstat, fstat, (int version, int fd, void* status), (version, fd, status))
IOTUNE_DESCRIPTOR(int, __fxstat64, fstat, (int version, int fd, void* status),
                  (version, fd, status))
IOTUNE_ON_DESCRIPTOR(true, not_in_slice(), int, fchmod, fchmod, (int fd, unsigned mode), (fd, mode),
                     mode)
IOTUNE_ON_DESCRIPTOR(true, not_in_slice(), int, fchown, fchown,
                     (int fd, unsigned user, unsigned group), (fd, user, group), user, group)
IOTUNE_ON_DESCRIPTOR(true, not_in_slice(), int, futimens, futimens, (int fd, const void* times),
                     (fd, times))
IOTUNE_DESCRIPTOR(int, flock, flock, (int fd, int operation), (fd, operation), operation)
IOTUNE_DESCRIPTOR(int, syncfs, syncfs, (int fd), (fd))
#define IOTUNE_FALLOCATE(name)                                                      \
  IOTUNE_ON_DESCRIPTOR(true, not_in_slice(), int, name, fallocate,                  \
                       (int fd, int mode, std::int64_t offset, std::int64_t bytes), \
                       (fd, mode, offset, bytes), mode, offset, bytes)
IOTUNE_FALLOCATE(fallocate)
IOTUNE_FALLOCATE(fallocate64)
#define IOTUNE_POSIX_FALLOCATE(name)                                                           \
  IOTUNE_ON_DESCRIPTOR(true, ENOTSUP, int, name, posix_fallocate,                              \
                       (int fd, std::int64_t offset, std::int64_t bytes), (fd, offset, bytes), \
                       offset, bytes)
IOTUNE_POSIX_FALLOCATE(posix_fallocate)
IOTUNE_POSIX_FALLOCATE(posix_fallocate64)
#define IOTUNE_POSIX_FADVISE(name)                                                 \
  IOTUNE_DESCRIPTOR(int, name, posix_fadvise,                                      \
                    (int fd, std::int64_t offset, std::int64_t bytes, int advice), \
                    (fd, offset, bytes, advice), offset, bytes, advice)
IOTUNE_POSIX_FADVISE(posix_fadvise)
IOTUNE_POSIX_FADVISE(posix_fadvise64)
IOTUNE_DESCRIPTOR(ssize_t, readahead, readahead, (int fd, std::int64_t offset, std::size_t bytes),
                  (fd, offset, bytes), offset, bytes)
IOTUNE_DESCRIPTOR(int, sync_file_range, sync_file_range,
                  (int fd, std::int64_t offset, std::int64_t bytes, unsigned flags),
                  (fd, offset, bytes, flags), offset, bytes, flags)

}  // extern "C"
