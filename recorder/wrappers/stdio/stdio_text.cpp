// Wrappers of the stdio calls that move lines and formatted text.
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "core/process/narrowing.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_place.h"
#include "recorder/wrappers/stdio/stdio_stream.h"
#include "recorder/wrappers/wrapper_parts.h"

using FILE = _IO_FILE;

namespace iotune::recorder {
namespace {

// Asked before a call too, which must find the errno that its caller left.
std::int64_t position_of(FILE* stream) noexcept {
  if (is_narrowed()) return -1;
  const OwnCode own;
  const int before = errno;
  const std::int64_t position = ftello(stream);
  errno = before;
  return position;
}

void record(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
            std::int64_t first, std::int64_t second, std::int64_t third) noexcept {
  if (!scope.recorded()) return;
  record_transfer({stream_word(number, scope.outer_layers(), fd, file), {first, second, third}},
                  scope.start_ticks(), scope.duration_ticks());
}

// `bytes_of(result)`: what such a result says to have been written.
template <typename Call, typename Bytes>
int written(CallNumber number, FILE* stream, Call call, Bytes bytes_of) noexcept {
  if (t_thread.runs_ahead != 0) return not_in_slice();
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return call();
  const StreamGap gap(stream, fd, file);
  const StreamWatch watch(stream, fd);
  scope.start();
  const int result = call();
  scope.stop();
  const std::int64_t bytes = result < 0 ? 0 : bytes_of(result);
  const std::int64_t place = watch.place(bytes);
  watch.end_gap(gap, scope, place, bytes);
  record(scope, number, fd, file, result, place, bytes);
  return result;
}

template <typename Call>
int formatted(FILE* stream, Call call) noexcept {
  return written(CallNumber::kfprintf, stream, call,
                 [](int result) { return std::int64_t{result}; });
}

template <typename Call>
int scanned(FILE* stream, Call call) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return call();
  const StreamGap gap(stream, fd, file);
  const std::int64_t before = position_of(stream);
  scope.start();
  const int result = call();
  scope.stop();
  const std::int64_t after = position_of(stream);
  gap.ended(scope, before, after);
  // -1: of a pipe nobody knows.
  record(scope, CallNumber::kfscanf, fd, file, result, before,
         before < 0 || after < 0 ? -1 : after - before);
  return result;
}

// `bytes_of(result)`: what was read where the stream has no position; below 0 at the end.
template <typename Result, typename Call, typename Bytes>
Result line_read(CallNumber number, FILE* stream, std::int64_t asked, Call call,
                 Bytes bytes_of) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return call();
  const StreamGap gap(stream, fd, file);
  const std::int64_t before = position_of(stream);
  scope.start();
  const Result result = call();
  scope.stop();
  std::int64_t bytes = bytes_of(result);
  const std::int64_t after = before < 0 ? -1 : position_of(stream);
  // A line may have NULs in it.
  if (bytes >= 0 && after >= 0) bytes = after - before;
  gap.ended(scope, before, after);
  record(scope, number, fd, file, asked, bytes, before);
  return result;
}

std::int64_t bytes_of_line(const char* line) noexcept {
  return line == nullptr ? -1 : static_cast<std::int64_t>(std::strlen(line));
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

#define IOTUNE_FPUTS(name)                                                             \
  IOTUNE_EXPORT int name(const char* text, FILE* stream) {                             \
    IOTUNE_REAL(int (*)(const char*, FILE*), name);                                    \
    return written(                                                                    \
        CallNumber::kfputs, stream, [=] { return real(text, stream); },                \
        [=](int /*result*/) { return static_cast<std::int64_t>(std::strlen(text)); }); \
  }
IOTUNE_FPUTS(fputs)
IOTUNE_FPUTS(fputs_unlocked)

#define IOTUNE_FGETS(name)                                                                        \
  IOTUNE_EXPORT char* name(char* to, int size, FILE* stream) {                                    \
    IOTUNE_REAL(char* (*)(char*, int, FILE*), name);                                              \
    return line_read<char*>(                                                                      \
        CallNumber::kfgets, stream, size, [=] { return real(to, size, stream); }, bytes_of_line); \
  }
IOTUNE_FGETS(fgets)
IOTUNE_FGETS(fgets_unlocked)

#define IOTUNE_FGETS_CHK(name)                                                          \
  IOTUNE_EXPORT char* name(char* to, std::size_t room, int size, FILE* stream) {        \
    IOTUNE_REAL(char* (*)(char*, std::size_t, int, FILE*), name);                       \
    return line_read<char*>(                                                            \
        CallNumber::kfgets, stream, size, [=] { return real(to, room, size, stream); }, \
        bytes_of_line);                                                                 \
  }
IOTUNE_FGETS_CHK(__fgets_chk)
IOTUNE_FGETS_CHK(__fgets_unlocked_chk)

#define IOTUNE_GETDELIM(name)                                                               \
  IOTUNE_EXPORT ssize_t name(char** line, std::size_t* room, int delimiter, FILE* stream) { \
    IOTUNE_REAL(ssize_t (*)(char**, std::size_t*, int, FILE*), name);                       \
    return line_read<ssize_t>(                                                              \
        CallNumber::kgetdelim, stream, delimiter,                                           \
        [=] { return real(line, room, delimiter, stream); },                                \
        [](ssize_t result) { return static_cast<std::int64_t>(result); });                  \
  }
IOTUNE_GETDELIM(getdelim)
IOTUNE_GETDELIM(__getdelim)

IOTUNE_EXPORT ssize_t getline(char** line, std::size_t* room, FILE* stream) {
  IOTUNE_REAL(ssize_t(*)(char**, std::size_t*, FILE*), getline);
  return line_read<ssize_t>(
      CallNumber::kgetdelim, stream, '\n', [=] { return real(line, room, stream); },
      [](ssize_t result) { return static_cast<std::int64_t>(result); });
}

// A call with `...` cannot be passed on as such: its form with a va_list is called.
IOTUNE_EXPORT int vfprintf(FILE* stream, const char* format, va_list arguments) {
  IOTUNE_REAL(int (*)(FILE*, const char*, va_list), vfprintf);
  return formatted(stream, [&] { return real(stream, format, arguments); });
}
IOTUNE_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  IOTUNE_REAL(int (*)(FILE*, const char*, va_list), vfprintf);
  va_list arguments;
  va_start(arguments, format);
  const int result = formatted(stream, [&] { return real(stream, format, arguments); });
  va_end(arguments);
  return result;
}
IOTUNE_EXPORT int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments) {
  IOTUNE_REAL(int (*)(FILE*, int, const char*, va_list), __vfprintf_chk);
  return formatted(stream, [&] { return real(stream, flag, format, arguments); });
}
IOTUNE_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  IOTUNE_REAL(int (*)(FILE*, int, const char*, va_list), __vfprintf_chk);
  va_list arguments;
  va_start(arguments, format);
  const int result = formatted(stream, [&] { return real(stream, flag, format, arguments); });
  va_end(arguments);
  return result;
}

// The names say which C's conversions are meant; a header may turn one into another. A program that
// calls the newer ones does not start with a glibc that lacks them.
#define IOTUNE_SCANF(name, with_list)                                                         \
  IOTUNE_EXPORT int iotune_##with_list(FILE*, const char*, va_list) __asm__(#with_list);      \
  IOTUNE_EXPORT int iotune_##with_list(FILE* stream, const char* format, va_list arguments) { \
    IOTUNE_REAL(int (*)(FILE*, const char*, va_list), with_list);                             \
    return scanned(stream, [&] { return real(stream, format, arguments); });                  \
  }                                                                                           \
  IOTUNE_EXPORT int iotune_##name(FILE*, const char*, ...) __asm__(#name);                    \
  IOTUNE_EXPORT int iotune_##name(FILE* stream, const char* format, ...) {                    \
    IOTUNE_REAL(int (*)(FILE*, const char*, va_list), with_list);                             \
    va_list arguments;                                                                        \
    va_start(arguments, format);                                                              \
    const int result = scanned(stream, [&] { return real(stream, format, arguments); });      \
    va_end(arguments);                                                                        \
    return result;                                                                            \
  }
IOTUNE_SCANF(fscanf, vfscanf)
IOTUNE_SCANF(__isoc99_fscanf, __isoc99_vfscanf)
IOTUNE_SCANF(__isoc23_fscanf, __isoc23_vfscanf)

}  // extern "C"
