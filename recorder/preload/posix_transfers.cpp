// Wrappers of the POSIX calls that move data.
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/preload/descriptor_table.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/record_writer.h"
#include "recorder/preload/wrapper_parts.h"

namespace iotune::recorder {
namespace {

// At the offset that the program names.
template <typename Call>
ssize_t positioned(CallNumber number, int fd, std::int64_t size, std::int64_t offset,
                   Call call) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (__builtin_expect(file == 0, 1)) return call();
  CallScope scope(Layer::kPosix);
  if (!scope.active()) return call();
  scope.start();
  const ssize_t result = call();
  scope.stop();
  record_transfer(scope, number, {fd, file}, {size, offset, result});
  return result;
}

// At the descriptor's own position, which other processes may share: the kernel is asked
// after the call (O_APPEND moves it during the call).
template <typename Call>
ssize_t at_position(CallNumber number, int fd, std::int64_t size, Call call) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (__builtin_expect(file == 0, 1)) return call();
  CallScope scope(Layer::kPosix);
  if (!scope.active()) return call();
  scope.start();
  const ssize_t result = call();
  scope.stop();
  const long after = raw::lseek(fd, 0, SEEK_CUR);
  constexpr long kIsPipe = -29;  // ESPIPE
  if (after == kIsPipe) {
    // The file was closed behind our back (fclose of an fdopen) and its number reused.
    set_file_of_descriptor(fd, 0);
    return result;
  }
  const std::int64_t offset = after < 0 ? -1 : after - (result > 0 ? result : 0);
  record_transfer(scope, number, {fd, file}, {size, result, offset});
  return result;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune::recorder;

extern "C" {

#define IOTUNE_REAL(type, name)       \
  static constinit NextSymbol symbol; \
  auto* const real = reinterpret_cast<type>(symbol.find(#name))

IOTUNE_EXPORT ssize_t read(int fd, void* buffer, std::size_t size) {
  IOTUNE_REAL(ssize_t(*)(int, void*, std::size_t), read);
  return at_position(CallNumber::kread, fd, static_cast<std::int64_t>(size),
                     [=] { return real(fd, buffer, size); });
}

IOTUNE_EXPORT ssize_t __read_chk(int fd, void* buffer, std::size_t size, std::size_t room) {
  IOTUNE_REAL(ssize_t(*)(int, void*, std::size_t, std::size_t), __read_chk);
  return at_position(CallNumber::kread, fd, static_cast<std::int64_t>(size),
                     [=] { return real(fd, buffer, size, room); });
}

IOTUNE_EXPORT ssize_t write(int fd, const void* buffer, std::size_t size) {
  IOTUNE_REAL(ssize_t(*)(int, const void*, std::size_t), write);
  return at_position(CallNumber::kwrite, fd, static_cast<std::int64_t>(size),
                     [=] { return real(fd, buffer, size); });
}

#define IOTUNE_PREAD(name)                                                                  \
  IOTUNE_EXPORT ssize_t name(int fd, void* buffer, std::size_t size, std::int64_t offset) { \
    IOTUNE_REAL(ssize_t (*)(int, void*, std::size_t, std::int64_t), name);                  \
    return positioned(CallNumber::kpread, fd, static_cast<std::int64_t>(size), offset,      \
                      [=] { return real(fd, buffer, size, offset); });                      \
  }
IOTUNE_PREAD(pread)
IOTUNE_PREAD(pread64)
IOTUNE_PREAD(__pread64)

#define IOTUNE_PREAD_CHK(name)                                                            \
  IOTUNE_EXPORT ssize_t name(int fd, void* buffer, std::size_t size, std::int64_t offset, \
                             std::size_t room) {                                          \
    IOTUNE_REAL(ssize_t (*)(int, void*, std::size_t, std::int64_t, std::size_t), name);   \
    return positioned(CallNumber::kpread, fd, static_cast<std::int64_t>(size), offset,    \
                      [=] { return real(fd, buffer, size, offset, room); });              \
  }
IOTUNE_PREAD_CHK(__pread_chk)
IOTUNE_PREAD_CHK(__pread64_chk)

#define IOTUNE_PWRITE(name)                                                                       \
  IOTUNE_EXPORT ssize_t name(int fd, const void* buffer, std::size_t size, std::int64_t offset) { \
    IOTUNE_REAL(ssize_t (*)(int, const void*, std::size_t, std::int64_t), name);                  \
    return positioned(CallNumber::kpwrite, fd, static_cast<std::int64_t>(size), offset,           \
                      [=] { return real(fd, buffer, size, offset); });                            \
  }
IOTUNE_PWRITE(pwrite)
IOTUNE_PWRITE(pwrite64)
IOTUNE_PWRITE(__pwrite64)

#define IOTUNE_VECTOR(name)                                                                     \
  IOTUNE_EXPORT ssize_t name(int fd, const struct iovec* parts, int count) {                    \
    IOTUNE_REAL(ssize_t (*)(int, const struct iovec*, int), name);                              \
    return at_position(CallNumber::k##name, fd, count, [=] { return real(fd, parts, count); }); \
  }
IOTUNE_VECTOR(readv)
IOTUNE_VECTOR(writev)

#define IOTUNE_VECTOR_AT(name, number)                                                            \
  IOTUNE_EXPORT ssize_t name(int fd, const struct iovec* parts, int count, std::int64_t offset) { \
    IOTUNE_REAL(ssize_t (*)(int, const struct iovec*, int, std::int64_t), name);                  \
    return positioned(CallNumber::number, fd, count, offset,                                      \
                      [=] { return real(fd, parts, count, offset); });                            \
  }
IOTUNE_VECTOR_AT(preadv, kpreadv)
IOTUNE_VECTOR_AT(preadv64, kpreadv)
IOTUNE_VECTOR_AT(pwritev, kpwritev)
IOTUNE_VECTOR_AT(pwritev64, kpwritev)

}  // extern "C"
