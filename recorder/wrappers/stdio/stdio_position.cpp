// Wrappers of the stdio calls that tell or set a stream's position, and its descriptor.
#include <stdio.h>

#include <optional>

#include "core/process/privilege_drop.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/stdio/stdio_stream.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

// `with_position`: the position after the call goes with the record; fpos_t says it to glibc alone.
template <typename Result, typename Call>
Result positioned(CallNumber number, Times times, FILE* stream, bool with_position,
                  Call call) noexcept {
  const int fd = descriptor_of(stream);
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  CallScope scope(Layer::kStdio);
  if (!scope.active()) return call();
  std::optional<StreamGap> gap;
  if (number != CallNumber::kfileno) gap.emplace(stream, fd, file);
  const std::int64_t before = gap ? gap->position() : -1;
  scope.start();
  const Result result = call();
  scope.stop();
  if (gap) gap->ended(scope, before, gap->position());
  const OwnCode own;
  RecordWriter record(scope, number, times);
  record.key(fd);
  record.key(file);
  record.number(static_cast<std::int64_t>(result));
  if (with_position) record.number(has_dropped_privileges() ? std::int64_t{-1} : ftello(stream));
  record.commit();
  return result;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT int fsetpos(FILE* stream, const fpos_t* position) {
  static constinit NextSymbol next;
  return positioned<int>(CallNumber::kfsetpos, Times::kControl, stream, true,
                         next.prepare<int>("fsetpos", stream, position));
}
IOTUNE_EXPORT int fsetpos64(FILE* stream, const fpos64_t* position) {
  static constinit NextSymbol next;
  return positioned<int>(CallNumber::kfsetpos, Times::kControl, stream, true,
                         next.prepare<int>("fsetpos64", stream, position));
}

IOTUNE_EXPORT int fgetpos(FILE* stream, fpos_t* position) {
  static constinit NextSymbol next;
  return positioned<int>(CallNumber::kfgetpos, Times::kOften, stream, true,
                         next.prepare<int>("fgetpos", stream, position));
}
IOTUNE_EXPORT int fgetpos64(FILE* stream, fpos64_t* position) {
  static constinit NextSymbol next;
  return positioned<int>(CallNumber::kfgetpos, Times::kOften, stream, true,
                         next.prepare<int>("fgetpos64", stream, position));
}

IOTUNE_EXPORT std::int64_t ftell(FILE* stream) {
  static constinit NextSymbol next;
  return positioned<std::int64_t>(CallNumber::kftell, Times::kOften, stream, false,
                                  next.prepare<std::int64_t>("ftell", stream));
}
IOTUNE_EXPORT std::int64_t ftello(FILE* stream) {
  static constinit NextSymbol next;
  return positioned<std::int64_t>(CallNumber::kftell, Times::kOften, stream, false,
                                  next.prepare<std::int64_t>("ftello", stream));
}
IOTUNE_EXPORT std::int64_t ftello64(FILE* stream) {
  static constinit NextSymbol next;
  return positioned<std::int64_t>(CallNumber::kftell, Times::kOften, stream, false,
                                  next.prepare<std::int64_t>("ftello64", stream));
}

IOTUNE_EXPORT int fileno(FILE* stream) noexcept {
  static constinit NextSymbol next;
  return positioned<int>(CallNumber::kfileno, Times::kOften, stream, false,
                         next.prepare<int>("fileno", stream));
}

}  // extern "C"
