// Wrappers of the stdio calls that tell or set a stream's position, and its descriptor.
#include <stdio.h>

#include <optional>

#include "core/process/narrowing.h"
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
  if (with_position) record.number(is_narrowed() ? std::int64_t{-1} : ftello(stream));
  record.commit();
  return result;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

#define IOTUNE_FSETPOS(name, place)                                             \
  IOTUNE_EXPORT int name(FILE* stream, const place* position) {                 \
    IOTUNE_REAL(int (*)(FILE*, const place*), name);                            \
    return positioned<int>(CallNumber::kfsetpos, Times::kControl, stream, true, \
                           [=] { return real(stream, position); });             \
  }
IOTUNE_FSETPOS(fsetpos, fpos_t)
IOTUNE_FSETPOS(fsetpos64, fpos64_t)

#define IOTUNE_FGETPOS(name, place)                                           \
  IOTUNE_EXPORT int name(FILE* stream, place position) {                      \
    IOTUNE_REAL(int (*)(FILE*, place), name);                                 \
    return positioned<int>(CallNumber::kfgetpos, Times::kOften, stream, true, \
                           [=] { return real(stream, position); });           \
  }
IOTUNE_FGETPOS(fgetpos, fpos_t*)
IOTUNE_FGETPOS(fgetpos64, fpos64_t*)

#define IOTUNE_FTELL(name)                                                            \
  IOTUNE_EXPORT std::int64_t name(FILE* stream) {                                     \
    IOTUNE_REAL(std::int64_t (*)(FILE*), name);                                       \
    return positioned<std::int64_t>(CallNumber::kftell, Times::kOften, stream, false, \
                                    [=] { return real(stream); });                    \
  }
IOTUNE_FTELL(ftell)
IOTUNE_FTELL(ftello)
IOTUNE_FTELL(ftello64)

IOTUNE_EXPORT int fileno(FILE* stream) noexcept {
  IOTUNE_REAL(int (*)(FILE*), fileno);
  return positioned<int>(CallNumber::kfileno, Times::kOften, stream, false,
                         [=] { return real(stream); });
}

}  // extern "C"
