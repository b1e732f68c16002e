// Wrappers of the calls on directories' streams, and of mknod in the forms that glibc has had.
#include "core/os/raw_syscall.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

struct __dirstream;
using DIR = __dirstream;
extern "C" int dirfd(DIR* stream) noexcept;

using namespace iotune;
using namespace iotune::recorder;

namespace {

int descriptor_of(DIR* stream) noexcept {
  return stream == nullptr ? -1 : dirfd(stream);
}

// A program that only looks into directories leaves no trace: what it reads there is recorded
// where there is one already.
template <typename Result, typename Call, typename Number>
Result on_stream(CallNumber number, Times times, int fd, std::uint32_t file, Call call,
                 Number number_of) noexcept {
  if (file == 0 || (times == Times::kOften && !buffer_exists())) return call();
  return recorded_call<Layer::kPosix, Result>(call, [=](const CallScope& scope, Result result) {
    RecordWriter record(scope, number, times);
    record.key(fd);
    record.key(file);
    record.number(std::int64_t{number_of(result)});
    record.commit();
  });
}

template <typename Call>
void* entry_read(DIR* stream, Call call) noexcept {
  const int fd = descriptor_of(stream);
  return on_stream<void*>(CallNumber::kreaddir, Times::kOften, fd, file_of_descriptor(fd), call,
                          [](void* entry) { return entry == nullptr ? 0 : 1; });
}

}  // namespace

extern "C" {

IOTUNE_EXPORT DIR* opendir(const char* path) {
  static constinit NextSymbol next;
  const auto real = next.prepare<DIR*>("opendir", path);
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  DIR* const stream = real();
  const int fd = descriptor_of(stream);
  if (fd >= 0) set_file_of_descriptor(fd, 0);
  call.made(CallNumber::kopendir, fd);
  if (fd >= 0 && call.traced()) note_descriptor(fd, call.path(), false);
  return stream;
}

IOTUNE_EXPORT int closedir(DIR* stream) {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("closedir", stream);
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  // Before the call: right after it another thread may get the same number.
  set_file_of_descriptor(fd, 0);
  return on_stream<int>(CallNumber::kclosedir, Times::kControl, fd, file, real,
                        [](int result) { return result; });
}

IOTUNE_EXPORT void* readdir(DIR* stream) {
  static constinit NextSymbol next;
  return entry_read(stream, next.prepare<void*>("readdir", stream));
}
IOTUNE_EXPORT void* readdir64(DIR* stream) {
  static constinit NextSymbol next;
  return entry_read(stream, next.prepare<void*>("readdir64", stream));
}

IOTUNE_EXPORT void rewinddir(DIR* stream) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<void>("rewinddir", stream);
  const int fd = descriptor_of(stream);
  on_stream<int>(
      CallNumber::krewinddir, Times::kOften, fd, file_of_descriptor(fd),
      [=] {
        real();
        return 0;
      },
      [](int result) { return result; });
}

// Up to glibc 2.32 a header turned mknod into these, with a version in front.
IOTUNE_EXPORT int __xmknod(int version, const char* path, unsigned mode,
                           unsigned long* device) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("__xmknod", version, path, mode, device);
  PathCall call(raw::kAtFdcwd, path, 0, nullptr);
  const int result = real();
  call.made(CallNumber::kmknod, mode, device == nullptr ? 0 : *device, result);
  return result;
}
IOTUNE_EXPORT int __xmknodat(int version, int directory, const char* path, unsigned mode,
                             unsigned long* device) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("__xmknodat", version, directory, path, mode, device);
  PathCall call(directory, path, 0, nullptr);
  const int result = real();
  call.made(CallNumber::kmknodat, directory, mode, device == nullptr ? 0 : *device, result);
  return result;
}
IOTUNE_EXPORT int mknodat(int directory, const char* path, unsigned mode,
                          unsigned long device) noexcept {
  static constinit NextSymbol next;
  return call_on_path(CallNumber::kmknodat, {directory, path},
                      next.prepare<int>("mknodat", directory, path, mode, device), directory, mode,
                      device);
}

}  // extern "C"
