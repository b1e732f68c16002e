// Wrappers of the POSIX calls that ask what is said of a file or change it: size, owner, mode,
// times. No header declares them here: glibc's names for one call have several forms.
#include <cstddef>

#include "core/os/raw_syscall.h"
#include "recorder/wrappers/descriptors/file_changes.h"
#include "recorder/wrappers/posix/descriptor_call.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/wrapper_parts.h"

// The functions stat() and stat64() have the names of their structs.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace iotune;
using namespace iotune::recorder;

namespace {

int cut(const char* path, std::int64_t bytes,
        NextCall<int, const char*, std::int64_t> real) noexcept {
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  const PathChange change(raw::kAtFdcwd, path);
  const int result = real();
  call.made(CallNumber::ktruncate, bytes, result);
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int stat(const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("stat", path, status));
}
IOTUNE_EXPORT int stat64(const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("stat64", path, status));
}
IOTUNE_EXPORT int __xstat(int version, const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("__xstat", version, path, status));
}
IOTUNE_EXPORT int __xstat64(int version, const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("__xstat64", version, path, status));
}

IOTUNE_EXPORT int lstat(const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("lstat", path, status));
}
IOTUNE_EXPORT int lstat64(const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("lstat64", path, status));
}
IOTUNE_EXPORT int __lxstat(int version, const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("__lxstat", version, path, status));
}
IOTUNE_EXPORT int __lxstat64(int version, const char* path, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klstat, {raw::kAtFdcwd, path},
                      next.prepare<int>("__lxstat64", version, path, status));
}

IOTUNE_EXPORT int fstat(int fd, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfstat, fd, next.prepare<int>("fstat", fd, status));
}
IOTUNE_EXPORT int fstat64(int fd, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfstat, fd, next.prepare<int>("fstat64", fd, status));
}
IOTUNE_EXPORT int __fxstat(int version, int fd, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfstat, fd,
                            next.prepare<int>("__fxstat", version, fd, status));
}
IOTUNE_EXPORT int __fxstat64(int version, int fd, void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfstat, fd,
                            next.prepare<int>("__fxstat64", version, fd, status));
}

IOTUNE_EXPORT int fstatat(int directory, const char* path, void* status, int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfstatat, {directory, path},
                      next.prepare<int>("fstatat", directory, path, status, flags), directory,
                      flags);
}
IOTUNE_EXPORT int fstatat64(int directory, const char* path, void* status, int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfstatat, {directory, path},
                      next.prepare<int>("fstatat64", directory, path, status, flags), directory,
                      flags);
}
IOTUNE_EXPORT int __fxstatat(int version, int directory, const char* path, void* status,
                             int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfstatat, {directory, path},
                      next.prepare<int>("__fxstatat", version, directory, path, status, flags),
                      directory, flags);
}
IOTUNE_EXPORT int __fxstatat64(int version, int directory, const char* path, void* status,
                               int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfstatat, {directory, path},
                      next.prepare<int>("__fxstatat64", version, directory, path, status, flags),
                      directory, flags);
}
IOTUNE_EXPORT int statx(int directory, const char* path, int flags, unsigned mask,
                        void* status) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kstatx, {directory, path},
                      next.prepare<int>("statx", directory, path, flags, mask, status), directory,
                      flags, mask);
}

IOTUNE_EXPORT int access(const char* path, int mode) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kaccess, {raw::kAtFdcwd, path},
                      next.prepare<int>("access", path, mode), mode);
}
IOTUNE_EXPORT int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfaccessat, {directory, path},
                      next.prepare<int>("faccessat", directory, path, mode, flags), directory, mode,
                      flags);
}

IOTUNE_EXPORT int truncate(const char* path, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return cut(path, bytes, next.prepare<int>("truncate", path, bytes));
}
IOTUNE_EXPORT int truncate64(const char* path, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return cut(path, bytes, next.prepare<int>("truncate64", path, bytes));
}

IOTUNE_EXPORT int chmod(const char* path, unsigned mode) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kchmod, {raw::kAtFdcwd, path},
                      next.prepare<int>("chmod", path, mode), mode);
}
IOTUNE_EXPORT int fchmodat(int directory, const char* path, unsigned mode, int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfchmodat, {directory, path},
                      next.prepare<int>("fchmodat", directory, path, mode, flags), directory, mode,
                      flags);
}
IOTUNE_EXPORT int fchmod(int fd, unsigned mode) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfchmod, fd, next.prepare<int>("fchmod", fd, mode), mode);
}

IOTUNE_EXPORT int chown(const char* path, unsigned user, unsigned group) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kchown, {raw::kAtFdcwd, path},
                      next.prepare<int>("chown", path, user, group), user, group);
}
IOTUNE_EXPORT int lchown(const char* path, unsigned user, unsigned group) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klchown, {raw::kAtFdcwd, path},
                      next.prepare<int>("lchown", path, user, group), user, group);
}
IOTUNE_EXPORT int fchownat(int directory, const char* path, unsigned user, unsigned group,
                           int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kfchownat, {directory, path},
                      next.prepare<int>("fchownat", directory, path, user, group, flags), directory,
                      user, group, flags);
}
IOTUNE_EXPORT int fchown(int fd, unsigned user, unsigned group) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfchown, fd, next.prepare<int>("fchown", fd, user, group),
                            user, group);
}

IOTUNE_EXPORT int utime(const char* path, const void* times) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kutime, {raw::kAtFdcwd, path},
                      next.prepare<int>("utime", path, times));
}
IOTUNE_EXPORT int utimes(const char* path, const void* times) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kutimes, {raw::kAtFdcwd, path},
                      next.prepare<int>("utimes", path, times));
}
IOTUNE_EXPORT int utimensat(int directory, const char* path, const void* times,
                            int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kutimensat, {directory, path},
                      next.prepare<int>("utimensat", directory, path, times, flags), directory,
                      flags);
}
IOTUNE_EXPORT int futimens(int fd, const void* times) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfutimens, fd, next.prepare<int>("futimens", fd, times));
}

}  // extern "C"
