#include "logstore/preload/transfers.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/real_calls.h"

namespace iotune::logstore {
namespace {

using Parts = std::span<const iovec>;

// Linux moves no more in one call.
constexpr std::size_t kMostBytes = 0x7ffff000;
// Small parts are written as one: each write is an entry of the index.
constexpr std::size_t kJoinedBytes = 32768;

// Of a file opened with O_SYNC a write is on the storage when it returns.
std::int64_t finish(OpenDescription& file, std::int64_t written) noexcept {
  if (written <= 0 || !file.syncs) return written;
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
                        std::size_t size) noexcept {
  if (!file.writes()) return -EBADF;
  if (offset < 0) return -EINVAL;
  return finish(file, file.file->write(offset, from, std::min(size, kMostBytes)));
}

namespace {

// At the descriptor's position, by `move(offset)`.
template <typename Move>
std::int64_t at_position(int fd, OpenDescription& file, Move move) noexcept {
  const std::lock_guard held(file.position);
  const std::int64_t position = result_of(lseek(fd, 0, SEEK_CUR));
  if (position < 0) return position;
  const std::int64_t moved = move(position);
  if (moved > 0) lseek(fd, position + moved, SEEK_SET);
  return moved;
}

// As lseek(2), but -errno.
std::int64_t seek(int fd, OpenDescription& file, std::int64_t offset, int whence) noexcept {
  const std::lock_guard held(file.position);
  std::int64_t place = offset;
  switch (whence) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      return result_of(lseek(fd, offset, SEEK_CUR));
    case SEEK_END: {
      // Who asks for the size wants what the ranks agreed on, no matter which of them has set it.
      file.file->refresh();
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

std::int64_t read_parts(OpenDescription& file, Parts parts, std::int64_t offset) noexcept {
  if (!bytes_of(parts)) return -EINVAL;
  return move_parts(parts, [&](void* to, std::int64_t done, std::size_t bytes) {
    return read_file(file, offset + done, to, bytes);
  });
}

// As one write where they are small.
std::int64_t write_parts(OpenDescription& file, Parts parts, std::int64_t offset) noexcept {
  const std::optional<std::size_t> bytes = bytes_of(parts);
  if (!bytes) return -EINVAL;
  if (parts.size() < 2 || *bytes > kJoinedBytes) {
    return move_parts(parts, [&](const void* from, std::int64_t done, std::size_t some) {
      return write_file(file, offset + done, from, some);
    });
  }
  std::array<char, kJoinedBytes> joined;
  std::size_t at = 0;
  for (const iovec& part : parts) {
    if (part.iov_len == 0) continue;
    std::memcpy(joined.data() + at, part.iov_base, part.iov_len);
    at += part.iov_len;
  }
  return at == 0 ? 0 : write_file(file, offset, joined.data(), at);
}

template <typename Move>
std::int64_t move_vector(const iovec* parts, int count, off_t offset, Move move) noexcept {
  if (count < 0 || count > IOV_MAX || offset < 0) return -EINVAL;
  return move(Parts(parts, static_cast<std::size_t>(count)));
}

off_t own_lseek(int fd, off_t offset, int whence) noexcept {
  return on_logged(
      fd, [&](OpenDescription& file) { return seek(fd, file, offset, whence); },
      [&] { return real.lseek(fd, offset, whence); });
}
ssize_t own_read(int fd, void* to, size_t size) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) {
        return at_position(fd, file,
                           [&](std::int64_t at) { return read_file(file, at, to, size); });
      },
      [&] { return real.read(fd, to, size); });
}
ssize_t own_read_chk(int fd, void* to, size_t size, size_t room) noexcept {
  if (!is_logged(fd) || size > room) return real.read_chk(fd, to, size, room);
  return own_read(fd, to, size);
}
ssize_t own_write(int fd, const void* from, size_t size) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) {
        return at_position(fd, file,
                           [&](std::int64_t at) { return write_file(file, at, from, size); });
      },
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
ssize_t own_preadv(int fd, const iovec* parts, int count, off_t offset) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) {
        return move_vector(parts, count, offset,
                           [&](Parts all) { return read_parts(file, all, offset); });
      },
      [&] { return real.preadv(fd, parts, count, offset); });
}
ssize_t own_pwritev(int fd, const iovec* parts, int count, off_t offset) noexcept {
  return on_logged(
      fd,
      [&](OpenDescription& file) {
        return move_vector(parts, count, offset,
                           [&](Parts all) { return write_parts(file, all, offset); });
      },
      [&] { return real.pwritev(fd, parts, count, offset); });
}

}  // namespace

Replacements replaced_transfers() noexcept {
  static const Replacement kList[] = {
      replacement("lseek", real.lseek, own_lseek),
      replacement("lseek64", real.lseek, own_lseek),
      replacement("read", real.read, own_read),
      replacement("__read_chk", real.read_chk, own_read_chk),
      replacement("write", real.write, own_write),
      replacement("pread", real.pread, own_pread),
      replacement("pread64", real.pread, own_pread),
      replacement("__pread64", real.pread, own_pread),
      replacement("__pread_chk", real.pread_chk, own_pread_chk),
      replacement("__pread64_chk", real.pread_chk, own_pread_chk),
      replacement("pwrite", real.pwrite, own_pwrite),
      replacement("pwrite64", real.pwrite, own_pwrite),
      replacement("__pwrite64", real.pwrite, own_pwrite),
      replacement("preadv", real.preadv, own_preadv),
      replacement("preadv64", real.preadv, own_preadv),
      replacement("pwritev", real.pwritev, own_pwritev),
      replacement("pwritev64", real.pwritev, own_pwritev),
  };
  return kList;
}

}  // namespace iotune::logstore
