#include "logstore/preload/transfers.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/real_calls.h"
#include "logstore/store/past_writes.h"

namespace iotune::logstore {
namespace {

using Parts = std::span<const iovec>;

// Linux moves no more in one call.
constexpr std::size_t kMostBytes = 0x7ffff000;
// Small parts are written as one: each write is an entry of the index.
constexpr std::size_t kJoinedBytes = 32768;

// Of a file opened with O_SYNC a write is on the storage when it returns.
std::int64_t finish(OpenDescription& file, std::int64_t written, bool syncs) noexcept {
  if (written <= 0 || !(syncs || file.syncs)) return written;
  const int wrong = file.file->sync();
  return wrong != 0 ? wrong : written;
}

}  // namespace

std::int64_t read_file(OpenDescription& file, std::int64_t offset, void* to,
                       std::size_t size) noexcept {
  if (!file.reads()) return -EBADF;
  if (offset < 0) return -EINVAL;
  return file.file->read(offset, to, std::min(size, kMostBytes));
}

std::int64_t write_file(OpenDescription& file, std::int64_t offset, const void* from,
                        std::size_t size, bool syncs) noexcept {
  if (!file.writes()) return -EBADF;
  if (offset < 0) return -EINVAL;
  // As Linux has it, and POSIX has not.
  if (file.appends.load(std::memory_order_relaxed)) {
    std::int64_t at = 0;
    // The end is behind what others wrote past the log store.
    take_in_past_writes(*file.file);
    return finish(file, file.file->append(from, std::min(size, kMostBytes), at), syncs);
  }
  return finish(file, file.file->write(offset, from, std::min(size, kMostBytes)), syncs);
}

namespace {

std::optional<std::size_t> bytes_of(Parts parts) noexcept {
  std::size_t bytes = 0;
  for (const iovec& part : parts) {
    if (part.iov_len > static_cast<std::size_t>(SSIZE_MAX) - bytes) return std::nullopt;
    bytes += part.iov_len;
  }
  return bytes;
}

// Part after part, by `move(memory, bytes moved before, bytes)`, until one moves less.
template <typename Move>
std::int64_t move_parts(Parts parts, Move move) noexcept {
  std::int64_t done = 0;
  for (const iovec& part : parts) {
    if (part.iov_len == 0) continue;
    const std::int64_t some = move(part.iov_base, done, part.iov_len);
    if (some < 0) return done > 0 ? done : some;
    done += some;
    if (static_cast<std::size_t>(some) < part.iov_len) break;
  }
  return done;
}

// As one write where they are small, by `write(memory, bytes moved before, bytes)`.
template <typename Write>
std::int64_t write_parts(Parts parts, Write write) noexcept {
  const std::optional<std::size_t> bytes = bytes_of(parts);
  if (!bytes) return -EINVAL;
  if (parts.size() < 2 || *bytes > kJoinedBytes) return move_parts(parts, write);
  std::array<char, kJoinedBytes> joined;
  std::size_t at = 0;
  for (const iovec& part : parts) {
    if (part.iov_len == 0) continue;
    std::memcpy(joined.data() + at, part.iov_base, part.iov_len);
    at += part.iov_len;
  }
  return at == 0 ? 0 : write(joined.data(), std::int64_t{0}, at);
}

std::int64_t read_vector(int fd, OpenDescription& file, Parts parts, std::int64_t offset) noexcept {
  if (!bytes_of(parts)) return -EINVAL;
  return move_parts(parts, [&](void* to, std::int64_t done, std::size_t bytes) {
    return offset == -1 ? read_at_position(fd, file, to, bytes)
                        : read_file(file, offset + done, to, bytes);
  });
}

std::int64_t write_vector(int fd, OpenDescription& file, Parts parts, std::int64_t offset,
                          bool syncs = false) noexcept {
  const std::int64_t written =
      write_parts(parts, [&](const void* from, std::int64_t done, std::size_t bytes) {
        return offset == -1 ? write_at_position(fd, file, from, bytes)
                            : write_file(file, offset + done, from, bytes);
      });
  return finish(file, written, syncs);
}

Parts parts_of(const iovec* parts, int count) noexcept {
  return {parts, static_cast<std::size_t>(count)};
}
bool is_count(int count) noexcept {
  return count >= 0 && count <= IOV_MAX;
}

ssize_t own_read(int fd, void* to, size_t size) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return read_at_position(fd, file, to, size); },
      [&] { return real.read(fd, to, size); });
}
ssize_t own_read_chk(int fd, void* to, size_t size, size_t room) noexcept {
  if (!is_logged(fd) || size > room) return real.read_chk(fd, to, size, room);
  return own_read(fd, to, size);
}
ssize_t own_write(int fd, const void* from, size_t size) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return write_at_position(fd, file, from, size); },
      [&] { return real.write(fd, from, size); });
}
ssize_t own_pread(int fd, void* to, size_t size, off_t offset) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return read_file(file, offset, to, size); },
      [&] { return real.pread(fd, to, size, offset); });
}
ssize_t own_pread_chk(int fd, void* to, size_t size, off_t offset, size_t room) noexcept {
  if (!is_logged(fd) || size > room) return real.pread_chk(fd, to, size, offset, room);
  return own_pread(fd, to, size, offset);
}
ssize_t own_pwrite(int fd, const void* from, size_t size, off_t offset) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return write_file(file, offset, from, size); },
      [&] { return real.pwrite(fd, from, size, offset); });
}
ssize_t own_readv(int fd, const iovec* parts, int count) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        return is_count(count) ? read_vector(fd, file, parts_of(parts, count), -1) : -EINVAL;
      },
      [&] { return real.readv(fd, parts, count); });
}
ssize_t own_writev(int fd, const iovec* parts, int count) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        return is_count(count) ? write_vector(fd, file, parts_of(parts, count), -1) : -EINVAL;
      },
      [&] { return real.writev(fd, parts, count); });
}
ssize_t own_preadv(int fd, const iovec* parts, int count, off_t offset) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if (!is_count(count) || offset < 0) return -EINVAL;
        return read_vector(fd, file, parts_of(parts, count), offset);
      },
      [&] { return real.preadv(fd, parts, count, offset); });
}
ssize_t own_pwritev(int fd, const iovec* parts, int count, off_t offset) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if (!is_count(count) || offset < 0) return -EINVAL;
        return write_vector(fd, file, parts_of(parts, count), offset);
      },
      [&] { return real.pwritev(fd, parts, count, offset); });
}
// Flags that ask for speed may be left out.
constexpr int kHints = RWF_HIPRI | RWF_NOWAIT;
ssize_t own_preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if ((flags & ~kHints) != 0) return -EOPNOTSUPP;
        if (!is_count(count) || offset < -1) return -EINVAL;
        return read_vector(fd, file, parts_of(parts, count), offset);
      },
      [&] { return real.preadv2(fd, parts, count, offset, flags); });
}
ssize_t own_pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) -> std::int64_t {
        if ((flags & ~(kHints | RWF_SYNC | RWF_DSYNC)) != 0) return -EOPNOTSUPP;
        if (!is_count(count) || offset < -1) return -EINVAL;
        return write_vector(fd, file, parts_of(parts, count), offset,
                            (flags & (RWF_SYNC | RWF_DSYNC)) != 0);
      },
      [&] { return real.pwritev2(fd, parts, count, offset, flags); });
}

int write_text(int fd, const char* format, va_list list) noexcept {
  char* text = nullptr;
  const int size = vasprintf(&text, format, list);
  if (size < 0) return -1;
  const ssize_t written = own_write(fd, text, static_cast<size_t>(size));
  const int kept = errno;
  std::free(text);
  errno = kept;
  return written < 0 ? -1 : size;
}
int own_vdprintf(int fd, const char* format, va_list list) noexcept {
  return is_logged(fd) ? write_text(fd, format, list) : real.vdprintf(fd, format, list);
}
int own_vdprintf_chk(int fd, int flag, const char* format, va_list list) noexcept {
  return is_logged(fd) ? write_text(fd, format, list) : real.vdprintf_chk(fd, flag, format, list);
}

}  // namespace

std::int64_t read_at_position(int fd, OpenDescription& file, void* to, std::size_t size) noexcept {
  const ResettableMutex::Guard held(file.position);
  const std::int64_t position = result_of(lseek(fd, 0, SEEK_CUR));
  if (position < 0) return position;
  // As in a write: what another process that shares the position reads lies behind this. Nothing is
  // taken behind the end, where another one may write meanwhile.
  const std::int64_t left = file.reads() ? file.file->size() - position : 0;
  if (left <= 0) {
    const std::int64_t got = read_file(file, position, to, size);
    if (got > 0) lseek(fd, position + got, SEEK_SET);
    return got;
  }
  const std::int64_t wanted = std::min(left, static_cast<std::int64_t>(std::min(size, kMostBytes)));
  const std::int64_t end = result_of(lseek(fd, wanted, SEEK_CUR));
  if (end < 0) return end;
  const std::int64_t got = read_file(file, end - wanted, to, static_cast<std::size_t>(wanted));
  if (got != wanted) lseek(fd, std::max<std::int64_t>(got, 0) - wanted, SEEK_CUR);
  return got;
}

std::int64_t write_at_position(int fd, OpenDescription& file, const void* from,
                               std::size_t size) noexcept {
  const ResettableMutex::Guard held(file.position);
  if (!file.writes()) return -EBADF;
  if (file.appends.load(std::memory_order_relaxed)) {
    std::int64_t position = 0;
    take_in_past_writes(*file.file);
    const std::int64_t written =
        finish(file, file.file->append(from, std::min(size, kMostBytes), position), false);
    if (written > 0) lseek(fd, position + written, SEEK_SET);
    return written;
  }
  // The place is taken at once, and what was not written is given back: a process that shares the
  // position (fork) may write meanwhile, and the kernel alone sees both.
  const auto wanted = static_cast<std::int64_t>(std::min(size, kMostBytes));
  const std::int64_t end = result_of(lseek(fd, wanted, SEEK_CUR));
  if (end < 0) return end == -EINVAL ? -EFBIG : end;
  const std::int64_t written =
      write_file(file, end - wanted, from, static_cast<std::size_t>(wanted));
  if (written != wanted) lseek(fd, std::max<std::int64_t>(written, 0) - wanted, SEEK_CUR);
  return written;
}

std::int64_t seek(int fd, OpenDescription& file, std::int64_t offset, int whence) noexcept {
  const ResettableMutex::Guard held(file.position);
  std::int64_t place = offset;
  switch (whence) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      return result_of(lseek(fd, offset, SEEK_CUR));
    case SEEK_END: {
      const std::int64_t size = file.file->size();
      if (size < 0) return size;
      if (__builtin_add_overflow(size, offset, &place)) return -EOVERFLOW;
      break;
    }
    case SEEK_DATA:
    case SEEK_HOLE:
      place = whence == SEEK_DATA ? file.file->next_data(offset) : file.file->next_hole(offset);
      if (place < 0) return place;
      break;
    default:
      return -EINVAL;
  }
  return place < 0 ? -EINVAL : result_of(lseek(fd, place, SEEK_SET));
}

Replacements replaced_transfers() noexcept {
  static const Replacement kList[] = {
      replacement("read", real.read, own_read, When::kFirstFile),
      replacement("__read_chk", real.read_chk, own_read_chk, When::kFirstFile),
      replacement("write", real.write, own_write, When::kFirstFile),
      replacement("pread", real.pread, own_pread, When::kFirstFile),
      replacement("pread64", real.pread, own_pread, When::kFirstFile),
      replacement("__pread64", real.pread, own_pread, When::kFirstFile),
      replacement("__pread_chk", real.pread_chk, own_pread_chk, When::kFirstFile),
      replacement("__pread64_chk", real.pread_chk, own_pread_chk, When::kFirstFile),
      replacement("pwrite", real.pwrite, own_pwrite, When::kFirstFile),
      replacement("pwrite64", real.pwrite, own_pwrite, When::kFirstFile),
      replacement("__pwrite64", real.pwrite, own_pwrite, When::kFirstFile),
      replacement("readv", real.readv, own_readv, When::kFirstFile),
      replacement("writev", real.writev, own_writev, When::kFirstFile),
      replacement("preadv", real.preadv, own_preadv, When::kFirstFile),
      replacement("preadv64", real.preadv, own_preadv, When::kFirstFile),
      replacement("pwritev", real.pwritev, own_pwritev, When::kFirstFile),
      replacement("pwritev64", real.pwritev, own_pwritev, When::kFirstFile),
      replacement("preadv2", real.preadv2, own_preadv2, When::kFirstFile),
      replacement("preadv64v2", real.preadv2, own_preadv2, When::kFirstFile),
      replacement("pwritev2", real.pwritev2, own_pwritev2, When::kFirstFile),
      replacement("pwritev64v2", real.pwritev2, own_pwritev2, When::kFirstFile),
      replacement("vdprintf", real.vdprintf, own_vdprintf, When::kFirstFile),
      replacement("__vdprintf_chk", real.vdprintf_chk, own_vdprintf_chk, When::kFirstFile),
  };
  return {kList, std::size(kList)};
}

}  // namespace iotune::logstore
