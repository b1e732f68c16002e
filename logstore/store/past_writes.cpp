#include "logstore/store/past_writes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "logstore/format.h"
#include "logstore/read/container_files.h"

namespace iotune::logstore {
namespace {

constexpr std::size_t kChunkBytes = 65536;

int write_whole(LoggedFile& file, std::int64_t offset, const char* from,
                std::size_t size) noexcept {
  while (size > 0) {
    const std::int64_t some = file.write(offset, from, size);
    if (some < 0) return static_cast<int>(some);
    offset += some;
    from += some;
    size -= static_cast<std::size_t>(some);
  }
  return 0;
}

// Bytes of the handle at `offset`; what of them is zero leaves alone what the logs have.
int take_in(LoggedFile& file, std::int64_t offset, const char* bytes, std::size_t size) noexcept {
  const std::int64_t data = file.next_data(offset);
  const char* const end = bytes + size;
  if (data < 0 || data >= offset + static_cast<std::int64_t>(size)) {
    const auto is_byte = [](char byte) { return byte != 0; };
    const char* const first = std::find_if(bytes, end, is_byte);
    const char* behind = end;
    while (behind > first && !is_byte(behind[-1])) --behind;
    return write_whole(file, offset + (first - bytes), first,
                       static_cast<std::size_t>(behind - first));
  }
  for (const char* at = bytes; at < end;) {
    const char* const first = std::find_if(at, end, [](char byte) { return byte != 0; });
    const char* const behind = std::find(first, end, '\0');
    const int wrong = write_whole(file, offset + (first - bytes), first,
                                  static_cast<std::size_t>(behind - first));
    if (wrong != 0) return wrong;
    at = behind;
  }
  return 0;
}

// What was taken in is taken out of the handle. Somebody may be writing into it right now, behind
// what was read: so nothing but that is removed as long as the last write is not long ago.
int take_out(int handle, std::int64_t from, std::int64_t end, bool rests) noexcept {
  if (rests) return 0;
  const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return fallocate(handle, how, from, end - from) == 0 ? 0 : -errno;
}

int take_in_all(LoggedFile& file, int handle, std::int64_t size, bool rests) noexcept {
  std::array<char, kChunkBytes> chunk;
  for (std::int64_t at = 0; (at = lseek(handle, at, SEEK_DATA)) >= 0;) {
    const std::int64_t end = lseek(handle, at, SEEK_HOLE);
    if (end < 0) return -errno;
    while (at < end) {
      const ssize_t got = pread(handle, chunk.data(),
                                std::min(chunk.size(), static_cast<std::size_t>(end - at)), at);
      if (got <= 0) return got < 0 ? -errno : 0;
      const int wrong = take_in(file, at, chunk.data(), static_cast<std::size_t>(got));
      if (wrong != 0) return wrong;
      if (const int flushed = rests ? 0 : file.flush(); flushed != 0) return flushed;
      const int out = take_out(handle, at, at + got, rests);
      // A file system without holes: as if nobody wrote any more.
      if (out == -EOPNOTSUPP) rests = true;
      if (out != 0 && out != -EOPNOTSUPP) return out;
      at += got;
    }
  }
  if (errno != ENXIO) return -errno;
  const std::int64_t known = file.size();
  if (known < 0) return static_cast<int>(known);
  const int grown = known < size ? file.truncate(size) : 0;
  const int flushed = grown != 0 ? grown : file.flush();
  if (flushed != 0 || !rests) return flushed;
  return ftruncate(handle, 0) == 0 ? 0 : -errno;
}

bool is_at_rest(const struct stat& handle) noexcept {
  constexpr std::int64_t kRestSeconds = 2;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} - handle.st_mtim.tv_sec > kRestSeconds;
}

}  // namespace

int take_in_past_writes(LoggedFile& file, int opened) noexcept {
  struct stat status {};
  const int looked =
      opened >= 0 ? fstat(opened, &status) : fstatat(file.directory(), kHandleName, &status, 0);
  if (looked != 0 || status.st_size == 0) return 0;
  // O_RDWR: what was taken in is taken out.
  const Descriptor handle(openat(file.directory(), kHandleName, O_RDWR | O_CLOEXEC));
  if (!handle) return -errno;
  // One at a time: the descriptor is no other thread's. The program's own locks are on the handle,
  // so this one is not.
  const Descriptor lock(openat(file.directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  int wrong = fstat(handle.get(), &status) == 0 ? 0 : -errno;
  if (wrong == 0 && status.st_size > 0) {
    file.refresh();
    wrong = take_in_all(file, handle.get(), status.st_size, is_at_rest(status));
    // The file was written to when the handle was.
    const timespec times[2] = {{0, UTIME_OMIT}, status.st_mtim};
    futimens(handle.get(), times);
  }
  return wrong;
}

void cut_past_writes(const LoggedFile& file, std::int64_t file_size) noexcept {
  const Descriptor handle(openat(file.directory(), kHandleName, O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!handle || fstat(handle.get(), &status) != 0 || status.st_size <= file_size) return;
  if (ftruncate(handle.get(), file_size) != 0) return;
}

}  // namespace iotune::logstore
