// What this library asks of the system, straight: by libc's names it would come back to itself
// through libiotune.so. The names are hidden, so that all code within the library finds these. They
// need no newer glibc than the oldest that is supported, either. No header of libc that declares
// them is included: there they have other forms.
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "core/os/raw_syscall.h"

#define DIRECT extern "C" __attribute__((visibility("hidden")))

namespace {

using iotune::raw::kAtFdcwd;
using iotune::raw::word;

constexpr int kCreates = 0100, kTemporary = 020000000;  // O_CREAT, and of O_TMPFILE its own bit
constexpr long kNoFollow = 0x100, kRemovesDirectory = 0x200;

template <typename... Words>
long make(long number, Words... words) noexcept {
  const long result = iotune::raw::call(number, word(words)...);
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}
template <typename... Words>
int make_int(long number, Words... words) noexcept {
  return static_cast<int>(make(number, words...));
}

}  // namespace

DIRECT int openat(int at, const char* path, int flags, ...) {
  unsigned mode = 0;
  if ((flags & (kCreates | kTemporary)) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, unsigned);
    va_end(list);
  }
  return make_int(SYS_openat, at, path, flags, mode);
}
DIRECT int open(const char* path, int flags, ...) {
  unsigned mode = 0;
  if ((flags & (kCreates | kTemporary)) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, unsigned);
    va_end(list);
  }
  return make_int(SYS_openat, kAtFdcwd, path, flags, mode);
}
DIRECT int close(int fd) {
  return make_int(SYS_close, fd);
}
DIRECT long read(int fd, void* to, std::size_t size) {
  return make(SYS_read, fd, to, size);
}
DIRECT long write(int fd, const void* from, std::size_t size) {
  return make(SYS_write, fd, from, size);
}
DIRECT long pread(int fd, void* to, std::size_t size, long offset) {
  return make(SYS_pread64, fd, to, size, offset);
}
DIRECT long pwrite(int fd, const void* from, std::size_t size, long offset) {
  return make(SYS_pwrite64, fd, from, size, offset);
}
DIRECT long lseek(int fd, long offset, int whence) {
  return make(SYS_lseek, fd, offset, whence);
}
DIRECT int fsync(int fd) {
  return make_int(SYS_fsync, fd);
}
DIRECT int fdatasync(int fd) {
  return make_int(SYS_fdatasync, fd);
}
DIRECT int ftruncate(int fd, long size) {
  return make_int(SYS_ftruncate, fd, size);
}
DIRECT int flock(int fd, int operation) {
  return make_int(SYS_flock, fd, operation);
}
DIRECT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return make_int(SYS_fcntl, fd, command, argument);
}

DIRECT int fstatat(int at, const char* path, void* status, int flags) {
  return make_int(SYS_newfstatat, at, path, status, flags);
}
DIRECT int stat(const char* path, void* status) {
  return make_int(SYS_newfstatat, kAtFdcwd, path, status, 0);
}
DIRECT int lstat(const char* path, void* status) {
  return make_int(SYS_newfstatat, kAtFdcwd, path, status, kNoFollow);
}
DIRECT int fstat(int fd, void* status) {
  return make_int(SYS_fstat, fd, status);
}
DIRECT int statx(int at, const char* path, int flags, unsigned mask, void* status) {
  return make_int(SYS_statx, at, path, flags, mask, status);
}
DIRECT int faccessat(int at, const char* path, int mode, int flags) {
  if (flags == 0) return make_int(SYS_faccessat, at, path, mode);
  constexpr long kFaccessat2 = 439;  // since Linux 5.8
  const int result = make_int(kFaccessat2, at, path, mode, flags);
  return result < 0 && errno == ENOSYS ? make_int(SYS_faccessat, at, path, mode) : result;
}
DIRECT long readlink(const char* path, char* to, std::size_t size) {
  return make(SYS_readlinkat, kAtFdcwd, path, to, size);
}

DIRECT int mkdir(const char* path, unsigned mode) {
  return make_int(SYS_mkdirat, kAtFdcwd, path, mode);
}
DIRECT int unlinkat(int at, const char* path, int flags) {
  return make_int(SYS_unlinkat, at, path, flags);
}
DIRECT int unlink(const char* path) {
  return make_int(SYS_unlinkat, kAtFdcwd, path, 0);
}
DIRECT int rmdir(const char* path) {
  return make_int(SYS_unlinkat, kAtFdcwd, path, kRemovesDirectory);
}
DIRECT int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return make_int(SYS_renameat2, from_at, from, to_at, to, flags);
}
DIRECT int renameat(int from_at, const char* from, int to_at, const char* to) {
  return make_int(SYS_renameat2, from_at, from, to_at, to, 0);
}
DIRECT int rename(const char* from, const char* to) {
  return make_int(SYS_renameat2, kAtFdcwd, from, kAtFdcwd, to, 0);
}
DIRECT int chmod(const char* path, unsigned mode) {
  return make_int(SYS_fchmodat, kAtFdcwd, path, mode);
}
DIRECT int fchmod(int fd, unsigned mode) {
  return make_int(SYS_fchmod, fd, mode);
}
DIRECT int fchmodat(int at, const char* path, unsigned mode, int /*flags*/) {
  return make_int(SYS_fchmodat, at, path, mode);
}
DIRECT int fchown(int fd, unsigned user, unsigned group) {
  return make_int(SYS_fchown, fd, user, group);
}
DIRECT int fchownat(int at, const char* path, unsigned user, unsigned group, int flags) {
  return make_int(SYS_fchownat, at, path, user, group, flags);
}
DIRECT int chown(const char* path, unsigned user, unsigned group) {
  return make_int(SYS_fchownat, kAtFdcwd, path, user, group, 0);
}
DIRECT int utimensat(int at, const char* path, const void* times, int flags) {
  return make_int(SYS_utimensat, at, path, times, flags);
}
DIRECT int futimens(int fd, const void* times) {
  return make_int(SYS_utimensat, fd, static_cast<const char*>(nullptr), times, 0);
}
