#include "recorder/wrappers/stdio/stdio_place.h"

#include <stdio_ext.h>

#include <cerrno>

#include "core/process/privilege_drop.h"
#include "core/process/thread_state.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"

namespace iotune::recorder {

StreamWatch::StreamWatch(_IO_FILE* stream, int fd) noexcept
    : stream_(stream),
      fd_(fd),
      appends_((traits_of_descriptor(fd) & kAppends) != 0),
      size_before_(appends_ && __fpending(stream) == 0 ? known_size(fd) : kUnknownPlace) {}

std::int64_t StreamWatch::place(const StreamGap& gap, std::int64_t bytes) const noexcept {
  if (const std::int64_t known = gap.place_written(bytes); known >= 0) return known;
  if (has_dropped_privileges()) return kUnknownPlace;
  if (appends_) {
    const bool grew =
        size_before_ >= 0 && __fpending(stream_) == 0 && size_before_ + bytes == known_size(fd_);
    return grew ? size_before_ : kUnknownPlace;
  }
  const OwnCode own;
  const int kept = errno;
  const std::int64_t after = ftello(stream_);
  errno = kept;
  return after < bytes ? kUnknownPlace : after - bytes;
}

void StreamWatch::end_gap(const StreamGap& gap, const CallScope& scope, std::int64_t place,
                          std::int64_t bytes) const noexcept {
  gap.wrote(bytes);
  if (!appends_) {
    gap.ended(scope, place, place < 0 ? -1 : place + bytes);
  }
}

}  // namespace iotune::recorder
