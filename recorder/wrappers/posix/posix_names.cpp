// Wrappers of the POSIX calls on names of files and directories: made, moved, linked and removed.
// No header declares them here: glibc's names for one call have several forms.
#include <cstddef>

#include "core/os/raw_syscall.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

// The target is text: what is at its end is not asked for.
template <typename Call, typename... Numbers>
int linked_to_text(CallNumber number, const char* target, const Paths& paths, Call real,
                   Numbers... numbers) noexcept {
  PathCall call(paths.directory, paths.path, 0, nullptr);
  call.text_in_front(target);
  const int result = real();
  call.made(number, numbers..., result);
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int unlink(const char* path) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kunlink, {raw::kAtFdcwd, path},
                      next.prepare<int>("unlink", path));
}
IOTUNE_EXPORT int unlinkat(int directory, const char* path, int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kunlinkat, {directory, path},
                      next.prepare<int>("unlinkat", directory, path, flags), directory, flags);
}
IOTUNE_EXPORT int remove(const char* path) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kremove, {raw::kAtFdcwd, path},
                      next.prepare<int>("remove", path));
}

IOTUNE_EXPORT int mkdir(const char* path, unsigned mode) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kmkdir, {raw::kAtFdcwd, path},
                      next.prepare<int>("mkdir", path, mode), mode);
}
IOTUNE_EXPORT int mkdirat(int directory, const char* path, unsigned mode) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kmkdirat, {directory, path},
                      next.prepare<int>("mkdirat", directory, path, mode), directory, mode);
}
IOTUNE_EXPORT int rmdir(const char* path) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::krmdir, {raw::kAtFdcwd, path}, next.prepare<int>("rmdir", path));
}
IOTUNE_EXPORT int mkfifo(const char* path, unsigned mode) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kmkfifo, {raw::kAtFdcwd, path},
                      next.prepare<int>("mkfifo", path, mode), mode);
}
IOTUNE_EXPORT int mknod(const char* path, unsigned mode, unsigned long device) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kmknod, {raw::kAtFdcwd, path},
                      next.prepare<int>("mknod", path, mode, device), mode, device);
}

IOTUNE_EXPORT int chdir(const char* path) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("chdir", path);
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  const int result = real();
  call.made(CallNumber::kchdir, result);
  return result;
}
IOTUNE_EXPORT int fchdir(int directory) noexcept {
  static constinit NextSymbol next;
  return next.prepare<int>("fchdir", directory)();
}

IOTUNE_EXPORT ssize_t readlink(const char* path, char* buffer, std::size_t size) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kreadlink, {raw::kAtFdcwd, path},
                      next.prepare<ssize_t>("readlink", path, buffer, size), size);
}
IOTUNE_EXPORT ssize_t readlinkat(int directory, const char* path, char* buffer,
                                 std::size_t size) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kreadlinkat, {directory, path},
                      next.prepare<ssize_t>("readlinkat", directory, path, buffer, size), directory,
                      size);
}
IOTUNE_EXPORT int symlink(const char* target, const char* path) noexcept {
  static constinit NextSymbol next;
  return linked_to_text(CallNumber::ksymlink, target, {raw::kAtFdcwd, path},
                        next.prepare<int>("symlink", target, path));
}
IOTUNE_EXPORT int symlinkat(const char* target, int directory, const char* path) noexcept {
  static constinit NextSymbol next;
  return linked_to_text(CallNumber::ksymlinkat, target, {directory, path},
                        next.prepare<int>("symlinkat", target, directory, path), directory);
}

IOTUNE_EXPORT int rename(const char* path, const char* second) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::krename, {raw::kAtFdcwd, path, raw::kAtFdcwd, second},
                      next.prepare<int>("rename", path, second));
}
IOTUNE_EXPORT int renameat(int from, const char* path, int to, const char* second) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::krenameat, {from, path, to, second},
                      next.prepare<int>("renameat", from, path, to, second), from, to);
}
IOTUNE_EXPORT int renameat2(int from, const char* path, int to, const char* second,
                            unsigned flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::krenameat2, {from, path, to, second},
                      next.prepare<int>("renameat2", from, path, to, second, flags), from, to,
                      flags);
}
IOTUNE_EXPORT int link(const char* path, const char* second) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klink, {raw::kAtFdcwd, path, raw::kAtFdcwd, second},
                      next.prepare<int>("link", path, second));
}
IOTUNE_EXPORT int linkat(int from, const char* path, int to, const char* second,
                         int flags) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::klinkat, {from, path, to, second},
                      next.prepare<int>("linkat", from, path, to, second, flags), from, to, flags);
}

}  // extern "C"
