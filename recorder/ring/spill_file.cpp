#include "recorder/ring/spill_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>

#include "core/files/descriptor.h"
#include "core/os/raw_syscall.h"
#include "core/os/size_limit.h"
#include "core/process/configuration.h"
#include "recorder/format.h"
#include "recorder/gather/trace_block_walk.h"
#include "recorder/gather/trace_file.h"

namespace iotune::recorder {
namespace {

constexpr long kInterrupted = -4;  // EINTR

constexpr long kEmptyPath = 0x1000, kNoFollow = 0x100;  // AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW

bool status_of(long fd, const char* path, long flags, struct stat& status) noexcept {
  return raw::call(SYS_newfstatat, fd, raw::word(path), raw::word(&status), flags) == 0;
}

}  // namespace

bool SpillFile::create(const char* buffer_path, std::span<const std::byte> process_block) noexcept {
  if (!trace_directory(path_)) return false;
  const char* const slash = std::strrchr(buffer_path, '/');
  const char* const dot = std::strrchr(buffer_path, '.');
  if (slash == nullptr || dot == nullptr || dot < slash) return false;
  link_.clear();
  link_.add(buffer_path, static_cast<std::size_t>(dot - buffer_path)) << kSpillSuffix;
  path_.add(slash, static_cast<std::size_t>(dot - slash)) << kSpillSuffix;
  if (link_.cut() || path_.cut()) return false;
  // The link first: a process that finds the buffer of a process that died meanwhile finds the
  // file.
  if (raw::symlink(path_.c_str(), link_.c_str()) != 0) return false;
  fd_ = raw::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  // Which file it is, its name tells: the descriptor may be another thread's by now.
  struct stat status {};
  if (fd_ >= 0 && status_of(raw::kAtFdcwd, path_.c_str(), kNoFollow, status)) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
    fd_ = moved_high(fd_);
    std::byte head[kTraceHeadBytes];
    std::memcpy(head, kTraceMagic, sizeof kTraceMagic - 1);
    std::memcpy(head + sizeof kTraceMagic - 1, &kFormatVersion, sizeof kFormatVersion);
    bytes_ = end_ = 0;
    if (append(head) && append(process_block) && commit()) {
      first_block_ = bytes_;
      return true;
    }
  }
  if (fd_ >= 0 || inode_ != 0) raw::unlink(path_.c_str());
  raw::unlink(link_.c_str());
  forget();
  return false;
}

bool SpillFile::is_ours(int fd) const noexcept {
  struct stat status {};
  return fd >= 0 && status_of(fd, "", kEmptyPath, status) && status.st_dev == device_ &&
         status.st_ino == inode_;
}

// Opened anew each time: no descriptor of ours is in the way of the program's close_range or dup2.
int SpillFile::open(int flags) const noexcept {
  int fd = raw::open(path_.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  fd = moved_high(fd);
  if (is_ours(fd)) return fd;
  raw::close(fd);
  return -1;
}

bool SpillFile::begin() noexcept {
  fd_ = open(O_WRONLY);
  end_ = bytes_;
  return fd_ >= 0;
}

bool SpillFile::append(std::span<const std::byte> blocks) noexcept {
  const std::byte* from = blocks.data();
  std::size_t left = blocks.size();
  bool whole = end_ + left <= configuration().spill_limit_bytes && within_size_limit(end_ + left);
  while (whole && left > 0) {
    // Another thread of the program may have given the number to a file of its own.
    const long done = is_ours(fd_) ? raw::call(SYS_pwrite64, fd_, raw::word(from), raw::word(left),
                                               static_cast<long>(end_))
                                   : -1;
    if (done == kInterrupted) continue;
    whole = done > 0;
    if (!whole) break;
    from += done;
    left -= static_cast<std::size_t>(done);
    end_ += static_cast<std::uint64_t>(done);
  }
  if (whole) return true;
  // What was written behind the end goes back to a disk that may be full.
  if (is_ours(fd_)) {
    raw::call(SYS_ftruncate, fd_, static_cast<long>(bytes_));
    raw::close(fd_);
  }
  fd_ = -1;
  return false;
}

bool SpillFile::commit() noexcept {
  // Some network file systems say only now that there was no room.
  const bool kept = is_ours(fd_) && raw::close(fd_) == 0;
  fd_ = -1;
  if (kept) bytes_ = end_;
  return kept;
}

bool SpillFile::visit(std::uint64_t end, std::span<std::byte> window,
                      void (*visitor)(const std::byte*, std::size_t, void*),
                      void* context) const noexcept {
  for (std::uint64_t at = first_block_; at < end;) {
    const std::uint64_t left = end - at;
    const std::size_t wanted =
        left < window.size() ? static_cast<std::size_t>(left) : window.size();
    const int fd = open(O_RDONLY);
    if (fd < 0) return false;
    std::size_t got = 0;
    while (got < wanted) {
      const long done = raw::call(SYS_pread64, fd, raw::word(window.data() + got),
                                  raw::word(wanted - got), static_cast<long>(at + got));
      if (done == kInterrupted) continue;
      if (done <= 0) break;
      got += static_cast<std::size_t>(done);
    }
    const bool still_ours = is_ours(fd);
    if (still_ours) raw::close(fd);
    std::span<const std::byte> blocks = window.first(got);
    TraceBlock block;
    while (next_trace_block(blocks, block)) {
    }
    const std::size_t whole = got - blocks.size();
    if (!still_ours || whole == 0) return false;
    visitor(window.data(), whole, context);
    at += whole;
  }
  return true;
}

void SpillFile::remove() noexcept {
  if (!exists()) return;
  raw::unlink(path_.c_str());
  raw::unlink(link_.c_str());
  forget();
}

void SpillFile::forget() noexcept {
  if (is_ours(fd_)) raw::close(fd_);
  device_ = inode_ = bytes_ = first_block_ = end_ = 0;
  fd_ = -1;
}

}  // namespace iotune::recorder
