#include "logstore/preload/streams.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
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

// libc reckons a stream of this kind to be elsewhere where what was written over what it had read
// is not flushed yet (glibc 2.36: fseek by 0 from the place goes back to where the writes began).
// Its ftell is right.
template <typename Call>
int moved(FILE* stream, off_t offset, int whence, Call call) noexcept {
  if (whence != SEEK_CUR || stream == nullptr || !is_logged(fileno_unlocked(stream))) {
    return call();
  }
  const Inside inside;
  const off_t place = ftello(stream);
  off_t to = 0;
  if (place < 0) return -1;
  if (__builtin_add_overflow(place, offset, &to)) return answer(-EOVERFLOW);
  return to < 0 ? answer(-EINVAL) : real.fseeko(stream, to, SEEK_SET);
}
int own_fseek(FILE* stream, long offset, int whence) noexcept {
  return moved(stream, offset, whence, [&] { return real.fseek(stream, offset, whence); });
}
int own_fseeko(FILE* stream, off_t offset, int whence) noexcept {
  return moved(stream, offset, whence, [&] { return real.fseeko(stream, offset, whence); });
}

}  // namespace

bool move_stream(FILE* stream, int fd, const char* mode) noexcept {
  const int own = fileno_unlocked(stream);
  fflush(stream);
  __fpurge(stream);
  leave_descriptor(own);
  const int moved = real.dup3(fd, own, std::strpbrk(mode, "e") == nullptr ? 0 : O_CLOEXEC);
  if (moved >= 0) copy_descriptor(fd, own);
  leave_descriptor(fd);
  real.close(fd);
  if (moved < 0) return false;
  // As libc marks a stream that was opened so.
  constexpr int kNoReads = 0x4, kNoWrites = 0x8, kAppends = 0x1000;
  const bool both = std::strchr(mode, '+') != nullptr;
  stream->_flags &= ~(kNoReads | kNoWrites | kAppends);
  if (!both) stream->_flags |= mode[0] == 'r' ? kNoWrites : kNoReads;
  if (mode[0] == 'a') stream->_flags |= kAppends;
  clearerr(stream);
  return true;
}

Replacements replaced_streams() noexcept {
  static const Replacement kList[] = {
      replacement("fseek", real.fseek, own_fseek, When::kFirstFile),
      replacement("fseeko", real.fseeko, own_fseeko, When::kFirstFile),
      replacement("fseeko64", real.fseeko, own_fseeko, When::kFirstFile),
  };
  return {kList, std::size(kList)};
}

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
