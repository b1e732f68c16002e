// Wrappers of the calls that make files with names of their own making: libc opens them inside,
// where no wrapper sees it.
#include <fcntl.h>

#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/privilege_drop.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_changes.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/posix/call_path.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_stream.h"
#include "recorder/wrappers/wrapper_parts.h"

using FILE = _IO_FILE;

namespace iotune::recorder {
namespace {

// Where tmpfile puts its files (P_tmpdir), which have no names or lose them at once.
constexpr const char* kSomeTemporary = "/tmp/tmpfile";

// `path` ends in the place holders on entry and in a name after the call. `numbers` go before the
// result.
template <typename Make, typename... Numbers>
int made(CallNumber number, const char* path, int flags, Make make, Numbers... numbers) noexcept {
  const auto call = [=]() __attribute__((noinline)) {
    const int fd = make();
    tell_opened(fd, -1);
    return fd;
  };
  CallScope scope(Layer::kPosix);
  if (!scope.active() || path == nullptr || in_vfork_child()) return call();
  bool traced = false;
  {
    const OwnCode own;
    CallPath before;
    traced = before.resolve(raw::kAtFdcwd, path) && start_buffer();
  }
  scope.start();
  const int fd = call();
  scope.stop();
  if (fd >= 0) set_file_of_descriptor(fd, 0);
  if (!traced) return fd;
  const OwnCode own;
  CallPath after;
  after.resolve(raw::kAtFdcwd, path);
  {
    RecordWriter record(scope, number, Times::kControl);
    record.text(after.c_str());
    record.numbers({static_cast<std::int64_t>(numbers)..., std::int64_t{fd}});
    record.commit();
  }
  if (fd >= 0) note_descriptor(fd, after.c_str(), (flags & O_APPEND) != 0);
  return fd;
}

FILE* temporary(FILE* (*make)()) noexcept {
  const auto real = [=] {
    FILE* const stream = make();
    tell_opened(descriptor_of(stream), -1);
    return stream;
  };
  CallScope scope(Layer::kStdio);
  if (!scope.active() || in_vfork_child()) return real();
  bool traced = false;
  {
    const OwnCode own;
    traced = path_is_traced(kSomeTemporary) && start_buffer();
  }
  scope.start();
  FILE* const stream = real();
  scope.stop();
  const int fd = descriptor_of(stream);
  if (fd >= 0) set_file_of_descriptor(fd, 0);
  if (!traced) return stream;
  const OwnCode own;
  ShortText<64> link;
  link << "/proc/self/fd/" << fd;
  ShortText<256> path;
  const bool asks = fd >= 0 && !has_dropped_privileges();
  const long bytes = asks ? raw::readlink(link.c_str(), path.tail(), path.room() - 1) : -1;
  if (bytes > 0) path.grew(static_cast<std::size_t>(bytes));
  {
    RecordWriter record(scope, CallNumber::ktmpfile, Times::kControl);
    record.number(std::int64_t{fd});
    record.text(path.c_str());
    record.commit();
  }
  if (fd >= 0) {
    note_descriptor(fd, path.c_str(), false);
    note_stream(stream, fd, 0);
  }
  return stream;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int mkstemp(char* path) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkstemp, path, 0, next.prepare<int>("mkstemp", path));
}
IOTUNE_EXPORT int mkstemp64(char* path) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkstemp, path, 0, next.prepare<int>("mkstemp64", path));
}

IOTUNE_EXPORT int mkostemp(char* path, int flags) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkostemp, path, flags, next.prepare<int>("mkostemp", path, flags),
              flags);
}
IOTUNE_EXPORT int mkostemp64(char* path, int flags) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkostemp, path, flags, next.prepare<int>("mkostemp64", path, flags),
              flags);
}

IOTUNE_EXPORT int mkstemps(char* path, int suffix) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkstemps, path, 0, next.prepare<int>("mkstemps", path, suffix), suffix);
}
IOTUNE_EXPORT int mkstemps64(char* path, int suffix) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkstemps, path, 0, next.prepare<int>("mkstemps64", path, suffix),
              suffix);
}

IOTUNE_EXPORT int mkostemps(char* path, int suffix, int flags) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkostemps, path, flags,
              next.prepare<int>("mkostemps", path, suffix, flags), suffix, flags);
}
IOTUNE_EXPORT int mkostemps64(char* path, int suffix, int flags) {
  static constinit NextSymbol next;
  return made(CallNumber::kmkostemps, path, flags,
              next.prepare<int>("mkostemps64", path, suffix, flags), suffix, flags);
}

IOTUNE_EXPORT FILE* tmpfile() {
  static constinit NextSymbol next;
  return temporary(next.find_as<FILE*()>("tmpfile"));
}
IOTUNE_EXPORT FILE* tmpfile64() {
  static constinit NextSymbol next;
  return temporary(next.find_as<FILE*()>("tmpfile64"));
}

}  // extern "C"
