#include "logstore/preload/past_writes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "core/os/raw_syscall.h"
#include "logstore/format.h"
#include "logstore/preload/host.h"
#include "logstore/preload/transfers.h"

namespace iotune::logstore {
namespace {

constexpr std::size_t kChunkBytes = 65536;

// Smaller files are copied into memory, larger ones beside the container's logs.
constexpr std::int64_t kCopiedInMemoryBytes = std::int64_t{64} << 20;

int make_copy(OpenDescription& file, std::int64_t size) noexcept {
  if (size <= kCopiedInMemoryBytes) {
    const long fd = raw::call(SYS_memfd_create, raw::word("iotune-stdin"), 0);
    if (fd >= 0) return static_cast<int>(fd);
  }
  return result_of(openat(file.file->directory(), ".", O_TMPFILE | O_RDWR, 0600));
}

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
  return static_cast<int>(raw::call(SYS_fallocate, handle, how, from, end - from));
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
  return flushed == 0 && rests ? result_of(ftruncate(handle, 0)) : flushed;
}

bool is_at_rest(const struct stat& handle) noexcept {
  constexpr std::int64_t kRestSeconds = 2;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} - handle.st_mtim.tv_sec > kRestSeconds;
}

}  // namespace

int take_in_past_writes(LoggedFile& file) noexcept {
  struct stat status {};
  if (fstatat(file.directory(), kHandleName, &status, 0) != 0 || status.st_size == 0) return 0;
  // O_RDWR: what was taken in is taken out.
  const int handle = openat(file.directory(), kHandleName, O_RDWR | O_CLOEXEC);
  if (handle < 0) return -errno;
  // One process at a time. The program's own locks are on the handle, so this one is not.
  flock(file.directory(), LOCK_EX);
  int wrong = fstat(handle, &status) == 0 ? 0 : -errno;
  if (wrong == 0 && status.st_size > 0) {
    file.refresh();
    wrong = take_in_all(file, handle, status.st_size, is_at_rest(status));
    // The file was written to when the handle was.
    const timespec times[2] = {{0, UTIME_OMIT}, status.st_mtim};
    futimens(handle, times);
  }
  flock(file.directory(), LOCK_UN);
  close(handle);
  return wrong;
}

void cut_past_writes(const LoggedFile& file, std::int64_t file_size) noexcept {
  const int handle = openat(file.directory(), kHandleName, O_RDWR | O_CLOEXEC);
  if (handle < 0) return;
  struct stat status {};
  if (fstat(handle, &status) == 0 && status.st_size > file_size) ftruncate(handle, file_size);
  close(handle);
}

int copy_for_stdin(int fd, OpenDescription& file) noexcept {
  const std::int64_t size = file.file->size();
  if (size < 0) return static_cast<int>(size);
  const int copy = make_copy(file, size);
  if (copy < 0) return copy;
  std::array<char, kChunkBytes> chunk;
  std::int64_t at = 0;
  std::int64_t got = 0;
  while ((got = file.file->read(at, chunk.data(), chunk.size())) > 0) {
    if (pwrite(copy, chunk.data(), static_cast<std::size_t>(got), at) != got) {
      got = -EIO;
      break;
    }
    at += got;
  }
  if (got >= 0) {
    lseek(copy, std::max<std::int64_t>(lseek(fd, 0, SEEK_CUR), 0), SEEK_SET);
    return copy;
  }
  close(copy);
  return static_cast<int>(got);
}

void prepare_for_output(int fd, OpenDescription& file) noexcept {
  if (!file.appends.load(std::memory_order_relaxed)) return;
  file.file->refresh();
  const std::int64_t size = file.file->size();
  if (size < 0) return;
  file.appends.store(false, std::memory_order_relaxed);
  fcntl(fd, F_SETFL, reinterpret_cast<void*>(std::intptr_t{fcntl(fd, F_GETFL) & ~O_APPEND}));
  lseek(fd, size, SEEK_SET);
}

}  // namespace iotune::logstore
