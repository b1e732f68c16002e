#include "logstore/preload/streams.h"

#include <cerrno>
#include <cstdint>
#include <string>

#include "logstore/preload/host.h"
#include "logstore/preload/open_files.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/transfers.h"

namespace iotune::logstore {
namespace {

int fd_of(void* cookie) noexcept {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(cookie));
}

// A stream's calls come from the program, or from within one of ours.
ssize_t read_stream(void* cookie, char* to, size_t size) {
  const Inside inside;
  const Held file(fd_of(cookie));
  return file ? answer(static_cast<ssize_t>(read_at_position(fd_of(cookie), *file, to, size)))
              : answer(ssize_t{-EBADF});
}

// libc takes 0 for an error and forgets errno otherwise.
ssize_t write_stream(void* cookie, const char* from, size_t size) {
  const Inside inside;
  const Held file(fd_of(cookie));
  size_t done = 0;
  while (done < size) {
    const std::int64_t some =
        file ? write_at_position(fd_of(cookie), *file, from + done, size - done) : -EBADF;
    if (some < 0) errno = static_cast<int>(-some);
    if (some <= 0) break;
    done += static_cast<size_t>(some);
  }
  return static_cast<ssize_t>(done);
}

int seek_stream(void* cookie, off64_t* offset, int whence) {
  const Inside inside;
  const Held file(fd_of(cookie));
  const std::int64_t place =
      answer(file ? seek(fd_of(cookie), *file, *offset, whence) : std::int64_t{-EBADF});
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

int close_stream(void* cookie) {
  const Inside inside;
  const int wrong = leave_descriptor(fd_of(cookie));
  const int closed = real.close(fd_of(cookie));
  return wrong != 0 ? answer(wrong) : closed;
}

}  // namespace

FILE* stream_of(int fd, const char* mode, bool closes) noexcept {
  // "x", "e" and a character set have been dealt with, or concern the descriptor.
  char plain[4] = {mode[0], '\0', '\0', '\0'};
  for (const char* at = mode + 1; *at != '\0' && *at != ','; ++at) {
    if (*at == '+') plain[1] = '+';
  }
  FILE* const stream = fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), plain,
                                   {read_stream, write_stream, seek_stream, close_stream});
  if (stream == nullptr) {
    const int kept = errno;
    if (closes) {
      leave_descriptor(fd);
      real.close(fd);
    }
    errno = kept;
    return nullptr;
  }
  // libc gives a stream of this kind no descriptor, and uses the number for fileno() alone.
  stream->_fileno = fd;
  return stream;
}

}  // namespace iotune::logstore
