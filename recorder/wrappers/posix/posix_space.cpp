// Wrappers of the POSIX calls on a descriptor's space, its caches and its lock. No header declares
// them here: glibc's names for one call have several forms.
#include <cerrno>
#include <cstddef>

#include "recorder/wrappers/posix/descriptor_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

using PosixFallocate = NextCall<int, int, std::int64_t, std::int64_t>;

// Its result is the error.
int allocate(int fd, std::int64_t offset, std::int64_t bytes, PosixFallocate real) noexcept {
  return call_on_descriptor(CallNumber::kposix_fallocate, fd, real, offset, bytes);
}

}  // namespace

extern "C" {

IOTUNE_EXPORT int fallocate(int fd, int mode, std::int64_t offset, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfallocate, fd,
                            next.prepare<int>("fallocate", fd, mode, offset, bytes), mode, offset,
                            bytes);
}
IOTUNE_EXPORT int fallocate64(int fd, int mode, std::int64_t offset, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kfallocate, fd,
                            next.prepare<int>("fallocate64", fd, mode, offset, bytes), mode, offset,
                            bytes);
}
IOTUNE_EXPORT int posix_fallocate(int fd, std::int64_t offset, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return allocate(fd, offset, bytes, next.prepare<int>("posix_fallocate", fd, offset, bytes));
}
IOTUNE_EXPORT int posix_fallocate64(int fd, std::int64_t offset, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return allocate(fd, offset, bytes, next.prepare<int>("posix_fallocate64", fd, offset, bytes));
}

IOTUNE_EXPORT int posix_fadvise(int fd, std::int64_t offset, std::int64_t bytes,
                                int advice) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kposix_fadvise, fd,
                            next.prepare<int>("posix_fadvise", fd, offset, bytes, advice), offset,
                            bytes, advice);
}
IOTUNE_EXPORT int posix_fadvise64(int fd, std::int64_t offset, std::int64_t bytes,
                                  int advice) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kposix_fadvise, fd,
                            next.prepare<int>("posix_fadvise64", fd, offset, bytes, advice), offset,
                            bytes, advice);
}
IOTUNE_EXPORT ssize_t readahead(int fd, std::int64_t offset, std::size_t bytes) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kreadahead, fd,
                            next.prepare<ssize_t>("readahead", fd, offset, bytes), offset, bytes);
}
IOTUNE_EXPORT int sync_file_range(int fd, std::int64_t offset, std::int64_t bytes,
                                  unsigned flags) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::ksync_file_range, fd,
                            next.prepare<int>("sync_file_range", fd, offset, bytes, flags), offset,
                            bytes, flags);
}
IOTUNE_EXPORT int syncfs(int fd) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::ksyncfs, fd, next.prepare<int>("syncfs", fd));
}

IOTUNE_EXPORT int flock(int fd, int operation) noexcept {
  static constinit NextSymbol next;
  return call_on_descriptor(CallNumber::kflock, fd, next.prepare<int>("flock", fd, operation),
                            operation);
}

}  // extern "C"
