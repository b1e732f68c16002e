// Wrappers of the calls that open, close, copy and shape POSIX files. What they share with the
// rest of calls.table is the recorded form; they are written by hand because of optional
// arguments and because they keep the table of descriptors.
#include <fcntl.h>

#include <cstdarg>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/file_changes.h"
#include "recorder/wrappers/descriptors/path_filter.h"
#include "recorder/wrappers/object_table.h"
#include "recorder/wrappers/posix/call_path.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

namespace {

void note_file(std::uint32_t file, int fd, const char* path) noexcept {
  RecordWriter record(CallNumber::kiotune_file, ticks_now());
  record.key(file);
  record.number(std::int64_t{fd});
  record.number(static_cast<std::int64_t>(Layer::kPosix));
  record.text(path);
  record.commit();
}

// Only files that can be read or written again: no directories, no O_PATH.
bool flags_are_traced(int flags) noexcept {
  if ((flags & O_TMPFILE) == O_TMPFILE) return true;  // it contains O_DIRECTORY
  return (flags & (O_PATH | O_DIRECTORY)) == 0;
}

// One open in any form: `open` makes the real one, with the flags that it is given.
template <typename Open, typename Write>
int traced_open(CallNumber number, int directory, const char* path, int flags, Open open,
                Write write) noexcept {
  const auto call = [=](int used) __attribute__((noinline)) {
    const PathChange change(directory, (used & O_TRUNC) != 0 ? path : nullptr);
    const int fd = open(used);
    tell_opened(fd, used);
    return fd;
  };
  CallScope scope(Layer::kPosix);
  if (!scope.active() || path == nullptr || in_vfork_child()) return call(flags);
  // Most opens are of absolute paths that are not traced: no memory is needed to say so.
  if (!flags_are_traced(flags) || (path[0] == '/' && !path_is_traced(path))) {
    const int untraced = call(flags);
    scope.keep_errno();
    if (untraced >= 0) set_file_of_descriptor(untraced, 0);
    return untraced;
  }
  CallPath absolute;
  bool traced = false;
  {
    const OwnCode own;
    traced = absolute.resolve(directory, path) && !is_the_end_of_mpi(scope.outer_layers()) &&
             start_buffer();
  }
  const bool may_create = traced && (flags & O_CREAT) != 0;
  const bool of_program = traced && scope.outer_layers() == 0;
  int used_flags = flags;
  OpenState state{};
  if (of_program) {
    const OwnCode own;
    g_decisions.files.before_program_open(absolute.c_str(), flags, state);
  }
  if (may_create) {
    const OwnCode own;
    if (!ask_services<&Service::takes>(false, absolute.c_str())) {
      used_flags = g_decisions.files.before_create(absolute.c_str(), flags);
    }
  }
  scope.start();
  const int fd = call(used_flags);
  scope.stop();
  if (fd >= 0) set_file_of_descriptor(fd, 0);
  if (!traced) return fd;
  {
    const OwnCode own;
    const bool owned = is_owned(fd);
    if (may_create && !owned) g_decisions.files.after_create(fd);
    if (fd >= 0 && !owned) g_decisions.files.after_open(absolute.c_str(), fd);
    if (of_program) g_decisions.files.after_program_open(absolute.c_str(), state);
  }
  // Then it has no number either, and its transfers are nobody's business.
  if (!scope.recorded()) return fd;
  {
    RecordWriter record(scope, number, Times::kControl);
    write(record, absolute.c_str());
    record.number(std::int64_t{fd});
    record.commit();
  }
  if (fd >= 0) note_descriptor(fd, absolute.c_str(), (flags & O_APPEND) != 0);
  return fd;
}

int do_open(NextSymbol& next, const char* name, const char* path, int flags,
            unsigned mode) noexcept {
  auto* const real = next.find_as<int(const char*, int, ...)>(name);
  return traced_open(
      CallNumber::kopen, AT_FDCWD, path, flags, [=](int used) { return real(path, used, mode); },
      [=](RecordWriter& record, const char* absolute) {
        record.text(absolute);
        record.number(std::int64_t{flags});
        record.number(static_cast<std::int64_t>(mode));
      });
}

int do_openat(NextSymbol& next, const char* name, int directory, const char* path, int flags,
              unsigned mode) noexcept {
  auto* const real = next.find_as<int(int, const char*, int, ...)>(name);
  return traced_open(
      CallNumber::kopenat, directory, path, flags,
      [=](int used) { return real(directory, path, used, mode); },
      [=](RecordWriter& record, const char* absolute) {
        record.number(std::int64_t{directory});
        record.text(absolute);
        record.number(std::int64_t{flags});
        record.number(static_cast<std::int64_t>(mode));
      });
}

int do_creat(NextSymbol& next, const char* name, const char* path, unsigned mode) noexcept {
  auto* const real = next.find_as<int(const char*, unsigned)>(name);
  return traced_open(
      CallNumber::kcreat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC,
      [=](int) { return real(path, mode); },
      [=](RecordWriter& record, const char* absolute) {
        record.text(absolute);
        record.number(static_cast<std::int64_t>(mode));
      });
}

}  // namespace

void note_descriptor(int fd, const char* path, bool appends) noexcept {
  const auto file = static_cast<std::uint32_t>(next_file_number());
  set_traits(fd, appends);
  set_file_of_descriptor(fd, file);
  note_file(file, fd, path);
  note_standard_stream(fd);
}

void leave_descriptor(int fd) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  set_file_of_descriptor(fd, 0);
  if (g_recording != kWatched || file == 0 || t_thread.ours != 0 || in_vfork_child()) return;
  const int kept = errno;
  const OwnCode own;
  tell_services<&Service::before_close>(fd, file);
  errno = kept;
}

namespace {
// The table is large: gone through only where somebody has to know.
void leave_descriptors(unsigned first, unsigned last) noexcept {
  if (g_recording != kWatched) return;
  const auto end = static_cast<unsigned>(end_of_descriptors());
  for (unsigned fd = first; fd <= last && fd < end; ++fd) {
    const Closing closing(static_cast<int>(fd));
    if (file_of_descriptor(static_cast<int>(fd)) != 0) leave_descriptor(static_cast<int>(fd));
  }
}

// dup2 over an open descriptor closes that one, unless they are the same.
void leave_replaced(int fd, int newfd) noexcept {
  if (g_recording != kWatched || fd == newfd || file_of_descriptor(newfd) == 0) return;
  if (raw::call(SYS_fcntl, fd, F_GETFD) >= 0) leave_descriptor(newfd);
}

// After dup: what both stand for.
void now_like(int fd, int newfd) noexcept {
  if (newfd < 0) return;
  if (newfd != fd) tell_opened(newfd, -1);
  set_file_of_descriptor(newfd, file_of_descriptor(fd));
  copy_traits(fd, newfd);
  note_standard_stream(newfd);
}

template <typename Call>
int synchronised(CallNumber number, int fd, Call call) noexcept {
  tell_synchronised(fd);
  return traced_call<Layer::kPosix, int>(number, fd, file_of_descriptor(fd), call);
}

template <typename Call>
int cut(int fd, std::int64_t bytes, Call call) noexcept {
  return traced_call<Layer::kPosix, int>(CallNumber::kftruncate, fd, file_of_descriptor(fd), call,
                                         bytes);
}

// Of a lock on a range. It changes no data, and is recorded where order is asked for.
bool is_lock(int command) noexcept {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}
int locked(int fd, int command, const struct flock* range, int (*real)(int, int, ...)) noexcept {
  const auto word = reinterpret_cast<std::intptr_t>(range);
  const auto call = [=] { return real(fd, command, range); };
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0 || range == nullptr) return call();
  return recorded_call<Layer::kPosix, int>(call, [=](const CallScope& scope, int result) {
    // What a call refused may lie nowhere.
    struct flock asked = {};
    if (result == 0) asked = *range;
    record_traced_call(
        scope, CallNumber::kfcntl, fd, file,
        {command, word, result, asked.l_type, asked.l_whence, asked.l_start, asked.l_len});
  });
}

int controlled(int fd, int command, void* argument, int (*real)(int, int, ...)) noexcept {
  const auto word = reinterpret_cast<std::intptr_t>(argument);
  if (command == F_SETFL) {
    tell_synchronised(fd);
    const int set = real(fd, command, argument);
    if (set == 0) set_appends(fd, (word & O_APPEND) != 0);
    return set;
  }
  if (g_records_order && is_lock(command)) {
    return locked(fd, command, static_cast<const struct flock*>(argument), real);
  }
  if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) return real(fd, command, argument);
  const int result = traced_call<Layer::kPosix, int>(
      CallNumber::kfcntl, fd, file_of_descriptor(fd), [=] { return real(fd, command, argument); },
      command, word);
  now_like(fd, result);
  return result;
}

// The mode is an argument only where a file may be made.
unsigned mode_among(va_list arguments, int flags) noexcept {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0U;
}
}  // namespace

void announce_descriptors() noexcept {
  const int end = end_of_descriptors();
  for (int fd = 0; fd < end; ++fd) {
    const std::uint32_t file = file_of_descriptor(fd);
    if (file == 0) continue;
    // Longer than a signal handler's stack may bear.
    static constinit char target[4096];
    if (path_of_descriptor(fd, target, sizeof target) > 0) note_file(file, fd, target);
  }
}

}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int open(const char* path, int flags, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_among(arguments, flags);
  va_end(arguments);
  return do_open(next, "open", path, flags, mode);
}
IOTUNE_EXPORT int open64(const char* path, int flags, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_among(arguments, flags);
  va_end(arguments);
  return do_open(next, "open64", path, flags, mode);
}
IOTUNE_EXPORT int __open_2(const char* path, int flags) {
  static constinit NextSymbol next;
  return do_open(next, "__open_2", path, flags, 0);
}
IOTUNE_EXPORT int __open64_2(const char* path, int flags) {
  static constinit NextSymbol next;
  return do_open(next, "__open64_2", path, flags, 0);
}

IOTUNE_EXPORT int openat(int directory, const char* path, int flags, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_among(arguments, flags);
  va_end(arguments);
  return do_openat(next, "openat", directory, path, flags, mode);
}
IOTUNE_EXPORT int openat64(int directory, const char* path, int flags, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_among(arguments, flags);
  va_end(arguments);
  return do_openat(next, "openat64", directory, path, flags, mode);
}
IOTUNE_EXPORT int __openat_2(int directory, const char* path, int flags) {
  static constinit NextSymbol next;
  return do_openat(next, "__openat_2", directory, path, flags, 0);
}
IOTUNE_EXPORT int __openat64_2(int directory, const char* path, int flags) {
  static constinit NextSymbol next;
  return do_openat(next, "__openat64_2", directory, path, flags, 0);
}

IOTUNE_EXPORT int creat(const char* path, unsigned mode) {
  static constinit NextSymbol next;
  return do_creat(next, "creat", path, mode);
}
IOTUNE_EXPORT int creat64(const char* path, unsigned mode) {
  static constinit NextSymbol next;
  return do_creat(next, "creat64", path, mode);
}

IOTUNE_EXPORT int close(int fd) {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("close", fd);
  // Taken out before the call: another thread's open may get the number at once.
  const std::uint32_t file = file_of_descriptor(fd);
  const Closing closing(fd);
  leave_descriptor(fd);
  return traced_call<Layer::kPosix, int>(CallNumber::kclose, fd, file, real);
}

IOTUNE_EXPORT int close_range(unsigned first, unsigned last, int flags) {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("close_range", first, last, flags);
  if (!real.exists()) return no_such_call();
  constexpr int kCloexecOnly = 4;  // CLOSE_RANGE_CLOEXEC
  if ((flags & kCloexecOnly) == 0) leave_descriptors(first, last);
  const int result = real();
  if (result == 0 && (flags & kCloexecOnly) == 0) {
    const auto end = static_cast<unsigned>(end_of_descriptors());
    for (unsigned fd = first; fd <= last && fd < end; ++fd) {
      set_file_of_descriptor(static_cast<int>(fd), 0);
    }
  }
  return result;
}

IOTUNE_EXPORT void closefrom(int first) {
  static constinit NextSymbol next;
  const auto real = next.prepare<void>("closefrom", first);
  if (!real.exists()) return;
  leave_descriptors(first < 0 ? 0 : static_cast<unsigned>(first), kMaxDescriptors);
  real();
  const int end = end_of_descriptors();
  for (int fd = first < 0 ? 0 : first; fd < end; ++fd) set_file_of_descriptor(fd, 0);
}

IOTUNE_EXPORT int fsync(int fd) {
  static constinit NextSymbol next;
  return synchronised(CallNumber::kfsync, fd, next.prepare<int>("fsync", fd));
}
IOTUNE_EXPORT int fdatasync(int fd) {
  static constinit NextSymbol next;
  return synchronised(CallNumber::kfdatasync, fd, next.prepare<int>("fdatasync", fd));
}

IOTUNE_EXPORT int ftruncate(int fd, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return cut(fd, bytes, next.prepare<int>("ftruncate", fd, bytes));
}
IOTUNE_EXPORT int ftruncate64(int fd, std::int64_t bytes) noexcept {
  static constinit NextSymbol next;
  return cut(fd, bytes, next.prepare<int>("ftruncate64", fd, bytes));
}

IOTUNE_EXPORT int dup(int fd) noexcept {
  static constinit NextSymbol next;
  const int result = traced_call<Layer::kPosix, int>(CallNumber::kdup, fd, file_of_descriptor(fd),
                                                     next.prepare<int>("dup", fd));
  now_like(fd, result);
  return result;
}

IOTUNE_EXPORT int dup2(int fd, int newfd) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("dup2", fd, newfd);
  leave_replaced(fd, newfd);
  const int result =
      traced_call<Layer::kPosix, int>(CallNumber::kdup2, fd, file_of_descriptor(fd), real, newfd);
  now_like(fd, result);
  return result;
}

IOTUNE_EXPORT int dup3(int fd, int newfd, int flags) noexcept {
  static constinit NextSymbol next;
  const auto real = next.prepare<int>("dup3", fd, newfd, flags);
  leave_replaced(fd, newfd);
  const int result = traced_call<Layer::kPosix, int>(CallNumber::kdup3, fd, file_of_descriptor(fd),
                                                     real, newfd, flags);
  now_like(fd, result);
  return result;
}

// Every command takes at most one argument, an integer or a pointer: a word holds both.
IOTUNE_EXPORT int fcntl(int fd, int command, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return controlled(fd, command, argument, next.find_as<int(int, int, ...)>("fcntl"));
}
IOTUNE_EXPORT int fcntl64(int fd, int command, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return controlled(fd, command, argument, next.find_as<int(int, int, ...)>("fcntl64"));
}

}  // extern "C"
