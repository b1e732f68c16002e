// Wrappers of the stdio calls that move lines and formatted text.
#include <cstdarg>
#include <cstring>

#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_place.h"
#include "recorder/wrappers/stdio/stdio_stream.h"
#include "recorder/wrappers/wrapper_parts.h"

using FILE = _IO_FILE;

namespace iotune::recorder {
namespace {

void record(const CallScope& scope, CallNumber number, int fd, std::uint32_t file,
            std::int64_t first, std::int64_t second, std::int64_t third) noexcept {
  if (!scope.recorded()) return;
  record_transfer({stream_word(number, scope.outer_layers(), fd, file), {first, second, third}},
                  scope.start_ticks(), scope.duration_ticks());
}

// `bytes_of(result)`: what such a result says to have been written.
template <typename Call, typename Bytes>
int written(CallNumber number, FILE* stream, Call call, Bytes bytes_of) noexcept {
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
  const std::int64_t place = watch.place(gap, bytes);
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

template <typename Call>
int put(const char* text, FILE* stream, Call call) noexcept {
  return written(CallNumber::kfputs, stream, call,
                 [=](int /*result*/) { return static_cast<std::int64_t>(std::strlen(text)); });
}

template <typename Call>
char* got(int size, FILE* stream, Call call) noexcept {
  return line_read<char*>(CallNumber::kfgets, stream, size, call, bytes_of_line);
}

template <typename Call>
ssize_t got_until(int delimiter, FILE* stream, Call call) noexcept {
  return line_read<ssize_t>(CallNumber::kgetdelim, stream, delimiter, call,
                            [](ssize_t result) { return static_cast<std::int64_t>(result); });
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int fputs(const char* text, FILE* stream) {
  static constinit NextSymbol next;
  return put(text, stream, next.prepare<int>("fputs", text, stream));
}
IOTUNE_EXPORT int fputs_unlocked(const char* text, FILE* stream) {
  static constinit NextSymbol next;
  return put(text, stream, next.prepare<int>("fputs_unlocked", text, stream));
}

IOTUNE_EXPORT char* fgets(char* to, int size, FILE* stream) {
  static constinit NextSymbol next;
  return got(size, stream, next.prepare<char*>("fgets", to, size, stream));
}
IOTUNE_EXPORT char* fgets_unlocked(char* to, int size, FILE* stream) {
  static constinit NextSymbol next;
  return got(size, stream, next.prepare<char*>("fgets_unlocked", to, size, stream));
}
IOTUNE_EXPORT char* __fgets_chk(char* to, std::size_t room, int size, FILE* stream) {
  static constinit NextSymbol next;
  return got(size, stream, next.prepare<char*>("__fgets_chk", to, room, size, stream));
}
IOTUNE_EXPORT char* __fgets_unlocked_chk(char* to, std::size_t room, int size, FILE* stream) {
  static constinit NextSymbol next;
  return got(size, stream, next.prepare<char*>("__fgets_unlocked_chk", to, room, size, stream));
}

IOTUNE_EXPORT ssize_t getdelim(char** line, std::size_t* room, int delimiter, FILE* stream) {
  static constinit NextSymbol next;
  return got_until(delimiter, stream,
                   next.prepare<ssize_t>("getdelim", line, room, delimiter, stream));
}
IOTUNE_EXPORT ssize_t __getdelim(char** line, std::size_t* room, int delimiter, FILE* stream) {
  static constinit NextSymbol next;
  return got_until(delimiter, stream,
                   next.prepare<ssize_t>("__getdelim", line, room, delimiter, stream));
}
IOTUNE_EXPORT ssize_t getline(char** line, std::size_t* room, FILE* stream) {
  static constinit NextSymbol next;
  return got_until('\n', stream, next.prepare<ssize_t>("getline", line, room, stream));
}

// A call with `...` cannot be passed on as such: its form with a va_list is called.
IOTUNE_EXPORT int vfprintf(FILE* stream, const char* format, va_list arguments) {
  static constinit NextSymbol next;
  return formatted(stream, next.prepare<int>("vfprintf", stream, format, arguments));
}
IOTUNE_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, format);
  const int result = formatted(stream, next.prepare<int>("vfprintf", stream, format, arguments));
  va_end(arguments);
  return result;
}
IOTUNE_EXPORT int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments) {
  static constinit NextSymbol next;
  return formatted(stream, next.prepare<int>("__vfprintf_chk", stream, flag, format, arguments));
}
IOTUNE_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, format);
  const int result =
      formatted(stream, next.prepare<int>("__vfprintf_chk", stream, flag, format, arguments));
  va_end(arguments);
  return result;
}

// The names say which C's conversions are meant; a header may turn one into another. A program that
// calls the newer ones does not start with a glibc that lacks them.
IOTUNE_EXPORT int own_vfscanf(FILE* stream, const char* format,
                              va_list arguments) __asm__("vfscanf");
IOTUNE_EXPORT int own_fscanf(FILE* stream, const char* format, ...) __asm__("fscanf");
IOTUNE_EXPORT int own_isoc99_vfscanf(FILE* stream, const char* format,
                                     va_list arguments) __asm__("__isoc99_vfscanf");
IOTUNE_EXPORT int own_isoc99_fscanf(FILE* stream, const char* format,
                                    ...) __asm__("__isoc99_fscanf");
IOTUNE_EXPORT int own_isoc23_vfscanf(FILE* stream, const char* format,
                                     va_list arguments) __asm__("__isoc23_vfscanf");
IOTUNE_EXPORT int own_isoc23_fscanf(FILE* stream, const char* format,
                                    ...) __asm__("__isoc23_fscanf");

int own_vfscanf(FILE* stream, const char* format, va_list arguments) {
  static constinit NextSymbol next;
  return scanned(stream, next.prepare<int>("vfscanf", stream, format, arguments));
}
int own_fscanf(FILE* stream, const char* format, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, format);
  const int result = scanned(stream, next.prepare<int>("vfscanf", stream, format, arguments));
  va_end(arguments);
  return result;
}

int own_isoc99_vfscanf(FILE* stream, const char* format, va_list arguments) {
  static constinit NextSymbol next;
  return scanned(stream, next.prepare<int>("__isoc99_vfscanf", stream, format, arguments));
}
int own_isoc99_fscanf(FILE* stream, const char* format, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, format);
  const int result =
      scanned(stream, next.prepare<int>("__isoc99_vfscanf", stream, format, arguments));
  va_end(arguments);
  return result;
}

int own_isoc23_vfscanf(FILE* stream, const char* format, va_list arguments) {
  static constinit NextSymbol next;
  return scanned(stream, next.prepare<int>("__isoc23_vfscanf", stream, format, arguments));
}
int own_isoc23_fscanf(FILE* stream, const char* format, ...) {
  static constinit NextSymbol next;
  va_list arguments;
  va_start(arguments, format);
  const int result =
      scanned(stream, next.prepare<int>("__isoc23_vfscanf", stream, format, arguments));
  va_end(arguments);
  return result;
}

}  // extern "C"
