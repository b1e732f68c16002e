// Wrappers of stdio: what it does below is done inside libc, where no wrapper sees it.
#include <fcntl.h>

#include <cstddef>
#include <optional>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/meaning_by_call.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_changes.h"
#include "recorder/wrappers/posix/call_path.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/reported_transfer.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_place.h"
#include "recorder/wrappers/stdio/stdio_stream.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using FILE = _IO_FILE;

namespace iotune::recorder {
namespace {

// As far as the hooks go by them.
int flags_of_mode(const char* mode) noexcept {
  if (mode == nullptr || mode[0] == 'r') return O_RDONLY;
  return mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY | O_CREAT;
}

// A call that makes a stream of a path.
template <typename Open>
FILE* opened(CallNumber number, const char* path, const char* mode, Open open) noexcept {
  const auto call = [=]() __attribute__((noinline)) {
    const PathChange change(AT_FDCWD, mode != nullptr && mode[0] == 'w' ? path : nullptr);
    FILE* const stream = open();
    tell_opened(descriptor_of(stream), -1);
    return stream;
  };
  CallScope scope(Layer::kStdio);
  if (!scope.active() || path == nullptr || in_vfork_child()) return call();
  CallPath absolute;
  bool traced = false;
  {
    const OwnCode own;
    traced = absolute.resolve(AT_FDCWD, path) && !is_the_end_of_mpi(scope.outer_layers()) &&
             start_buffer();
  }
  const int flags = flags_of_mode(mode);
  const bool of_program = traced && scope.outer_layers() == 0;
  OpenState state{};
  if (of_program) {
    const OwnCode own;
    g_decisions.files.before_program_open(absolute.c_str(), flags, state);
    // libc makes the file inside: flags of ours never reach it.
    if ((flags & O_CREAT) != 0) g_decisions.files.before_create(absolute.c_str(), flags);
  }
  scope.start();
  FILE* const stream = call();
  scope.stop();
  const int fd = descriptor_of(stream);
  if (fd >= 0) set_file_of_descriptor(fd, 0);
  if (of_program) {
    const OwnCode own;
    if ((flags & O_CREAT) != 0) g_decisions.files.after_create(fd);
    if (fd >= 0) g_decisions.files.after_open(absolute.c_str(), fd);
    g_decisions.files.after_program_open(absolute.c_str(), state);
  }
  if (!traced || !scope.recorded()) return stream;
  {
    RecordWriter record(scope, number, Times::kControl);
    record.text(absolute.c_str());
    record.text(mode);
    record.number(std::int64_t{fd});
    record.commit();
  }
  if (fd >= 0) {
    note_descriptor(fd, absolute.c_str(), mode != nullptr && mode[0] == 'a');
    note_stream(stream, fd, 0);
  }
  return stream;
}

// Part of an item may have been moved too: the position tells.
std::int64_t place_read(FILE* stream, std::int64_t bytes) noexcept {
  const OwnCode own;
  const std::int64_t after = has_dropped_privileges() ? -1 : ftello(stream);
  return after < 0 ? -1 : after - bytes;
}

// Part of each wrapper: one that they shared would have to hand its call on through memory.
template <typename Call>
[[gnu::always_inline]] inline std::size_t transferred(CallNumber number, FILE* stream,
                                                      std::size_t size, std::size_t count,
                                                      Call call) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return call();
  Transfer transfer{fd, file, does(number, Verb::kReads), true, -1, -1, 0, 0};
  const bool watched = g_recording == kWatched;
  if (watched) report_before(transfer);
  const StreamGap gap(stream, fd, file);
  std::optional<StreamWatch> watch;
  if (does(number, Verb::kWrites)) watch.emplace(stream, fd);
  scope.start();
  const std::size_t result = call();
  scope.stop();
  const auto bytes = static_cast<std::int64_t>(result * size);
  const std::int64_t place = watch ? watch->place(gap, bytes) : place_read(stream, bytes);
  if (watch) {
    watch->end_gap(gap, scope, place, bytes);
  } else {
    // At the file's end an item may have come in part, which lies in front.
    const bool part = result < count && gap.bytes_before(place) < static_cast<std::int64_t>(size);
    gap.ended(scope, part ? -1 : place, place < 0 ? -1 : place + bytes);
  }
  const OwnCode own;
  start_buffer_if_worth(bytes);
  RecordWriter record(scope, number, Times::kPosix);
  record.key(fd);
  record.key(file);
  record.numbers({static_cast<std::int64_t>(size), static_cast<std::int64_t>(count),
                  static_cast<std::int64_t>(result), place, bytes});
  record.commit();
  if (watched) {
    transfer.offset = place;
    transfer.bytes = bytes;
    transfer.start_ticks = scope.start_ticks();
    transfer.duration_ticks = scope.duration_ticks();
    report_after(transfer);
  }
  return result;
}

// The stream goes on as another one.
void leave_stream(FILE* stream) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return;
  {
    const StreamGap gap(stream, fd, file);
    CallScope scope(Layer::kStdio);
    const std::int64_t at = gap.position();
    if (scope.active() && !in_vfork_child()) {
      scope.start();
      gap.ended(scope, at, at);
    }
    gap.closing();
  }
  leave_descriptor(fd);
}

template <typename Call>
FILE* reopened(const char* path, const char* mode, FILE* stream, Call call) noexcept {
  const Closing closing(descriptor_of(stream));
  leave_stream(stream);
  return opened(CallNumber::kfreopen, path, mode, call);
}

// A call that moves the stream's position, or its bytes, and returns no more than whether it did.
template <typename Call, typename... Numbers>
int moved(CallNumber number, FILE* stream, Call call, Numbers... numbers) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  const StreamGap gap(stream, fd, file);
  const std::int64_t before = gap.position();
  return recorded_call<Layer::kStdio, int>(call, [&](const CallScope& scope, int result) {
    gap.ended(scope, before, gap.position());
    record_traced_call(scope, number, fd, file,
                       {static_cast<std::int64_t>(numbers)..., static_cast<std::int64_t>(result)});
  });
}

int closed(FILE* stream, int (*real)(FILE*)) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  const Closing closing(fd);
  if (file == 0 || in_vfork_child()) {
    if (file != 0) leave_descriptor(fd);
    return real(stream);
  }
  const StreamGap gap(stream, fd, file);
  const std::int64_t at = gap.position();
  // Before the call: right after it another thread may get the same number, or the same stream.
  leave_descriptor(fd);
  CallScope scope(Layer::kStdio);
  constexpr std::int64_t kFew = 4096;
  if ((nothing_recorded() && gap.bytes_before(at) < kFew) || !scope.active()) {
    gap.closing();
    return real(stream);
  }
  scope.start();
  gap.ended(scope, at, at);
  gap.closing();
  const int result = real(stream);
  scope.stop();
  RecordWriter record(scope, CallNumber::kfclose, Times::kControl);
  record.key(fd);
  record.key(file);
  record.number(std::int64_t{result});
  record.commit();
  return result;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT FILE* fopen(const char* path, const char* mode) {
  static constinit NextSymbol next;
  return opened(CallNumber::kfopen, path, mode, next.prepare<FILE*>("fopen", path, mode));
}
IOTUNE_EXPORT FILE* fopen64(const char* path, const char* mode) {
  static constinit NextSymbol next;
  return opened(CallNumber::kfopen, path, mode, next.prepare<FILE*>("fopen64", path, mode));
}

IOTUNE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  static constinit NextSymbol next;
  return reopened(path, mode, stream, next.prepare<FILE*>("freopen", path, mode, stream));
}
IOTUNE_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  static constinit NextSymbol next;
  return reopened(path, mode, stream, next.prepare<FILE*>("freopen64", path, mode, stream));
}

IOTUNE_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<FILE*>("fdopen", fd, mode);
  const std::uint32_t file = file_of_descriptor(fd);
  CallScope scope(Layer::kStdio);
  if (file == 0 || !scope.active()) return real();
  scope.start();
  FILE* const stream = real();
  scope.stop();
  if (stream != nullptr && mode != nullptr && mode[0] == 'a') set_appends(fd, true);
  note_stream(stream, fd, has_dropped_privileges() ? -1 : raw::lseek(fd, 0, SEEK_CUR));
  RecordWriter record(scope, CallNumber::kfdopen, Times::kControl);
  record.key(fd);
  record.key(file);
  record.text(mode);
  record.number(std::int64_t{stream == nullptr ? -1 : fd});
  record.commit();
  return stream;
}

IOTUNE_EXPORT int fclose(FILE* stream) {
  static constinit NextSymbol next;
  return closed(stream, next.find_as<int(FILE*)>("fclose"));
}

IOTUNE_EXPORT std::size_t fread(void* to, std::size_t size, std::size_t count, FILE* stream) {
  static constinit NextSymbol next;
  return transferred(CallNumber::kfread, stream, size, count,
                     next.prepare<std::size_t>("fread", to, size, count, stream));
}
IOTUNE_EXPORT std::size_t fread_unlocked(void* to, std::size_t size, std::size_t count,
                                         FILE* stream) {
  static constinit NextSymbol next;
  return transferred(CallNumber::kfread, stream, size, count,
                     next.prepare<std::size_t>("fread_unlocked", to, size, count, stream));
}
IOTUNE_EXPORT std::size_t __fread_chk(void* to, std::size_t room, std::size_t size,
                                      std::size_t count, FILE* stream) {
  static constinit NextSymbol next;
  return transferred(CallNumber::kfread, stream, size, count,
                     next.prepare<std::size_t>("__fread_chk", to, room, size, count, stream));
}
IOTUNE_EXPORT std::size_t __fread_unlocked_chk(void* to, std::size_t room, std::size_t size,
                                               std::size_t count, FILE* stream) {
  static constinit NextSymbol next;
  return transferred(
      CallNumber::kfread, stream, size, count,
      next.prepare<std::size_t>("__fread_unlocked_chk", to, room, size, count, stream));
}

IOTUNE_EXPORT std::size_t fwrite(const void* from, std::size_t size, std::size_t count,
                                 FILE* stream) {
  static constinit NextSymbol next;
  return transferred(CallNumber::kfwrite, stream, size, count,
                     next.prepare<std::size_t>("fwrite", from, size, count, stream));
}
IOTUNE_EXPORT std::size_t fwrite_unlocked(const void* from, std::size_t size, std::size_t count,
                                          FILE* stream) {
  static constinit NextSymbol next;
  return transferred(CallNumber::kfwrite, stream, size, count,
                     next.prepare<std::size_t>("fwrite_unlocked", from, size, count, stream));
}

IOTUNE_EXPORT int fseek(FILE* stream, long offset, int whence) {
  static constinit NextSymbol next;
  return moved(CallNumber::kfseek, stream, next.prepare<int>("fseek", stream, offset, whence),
               offset, whence);
}
IOTUNE_EXPORT int fseeko(FILE* stream, std::int64_t offset, int whence) {
  static constinit NextSymbol next;
  return moved(CallNumber::kfseek, stream, next.prepare<int>("fseeko", stream, offset, whence),
               offset, whence);
}
IOTUNE_EXPORT int fseeko64(FILE* stream, std::int64_t offset, int whence) {
  static constinit NextSymbol next;
  return moved(CallNumber::kfseek, stream, next.prepare<int>("fseeko64", stream, offset, whence),
               offset, whence);
}

IOTUNE_EXPORT void rewind(FILE* stream) {
  static constinit NextSymbol next;
  const auto real = next.prepare<void>("rewind", stream);
  moved(CallNumber::krewind, stream, [=] {
    real();
    return 0;
  });
}

IOTUNE_EXPORT int fflush(FILE* stream) {
  static constinit NextSymbol next;
  return moved(CallNumber::kfflush, stream, next.prepare<int>("fflush", stream));
}
IOTUNE_EXPORT int fflush_unlocked(FILE* stream) {
  static constinit NextSymbol next;
  return moved(CallNumber::kfflush, stream, next.prepare<int>("fflush_unlocked", stream));
}

}  // extern "C"
