#include "logstore/store/log_buffer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace iotune::logstore {
namespace {

std::int64_t write_straight(int fd, const void* bytes, std::size_t size,
                            std::int64_t offset) noexcept {
  for (;;) {
    const ssize_t some = pwrite(fd, bytes, size, offset);
    if (some >= 0) return some;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

std::int64_t LogBuffer::write_at(const void* bytes, std::size_t size,
                                 std::int64_t offset) noexcept {
  const bool gathers = size <= kLargestGathered;
  const bool follows = offset == begin_ + static_cast<std::int64_t>(size_);
  if (size_ != 0 && (!gathers || !follows || size_ + size > kBytes)) {
    if (const int wrong = write_out(); wrong != 0) return wrong;
  }
  if (gathers && held_ == nullptr) held_.reset(new (std::nothrow) std::byte[kBytes]);
  if (!gathers || held_ == nullptr) return write_straight(fd_, bytes, size, offset);
  if (size_ == 0) begin_ = offset;
  std::memcpy(held_.get() + size_, bytes, size);
  size_ += size;
  return static_cast<std::int64_t>(size);
}

int LogBuffer::write_out() noexcept {
  std::size_t done = 0;
  std::int64_t some = 0;
  while (done < size_) {
    some = write_straight(fd_, held_.get() + done, size_ - done,
                          begin_ + static_cast<std::int64_t>(done));
    if (some == 0) some = -EIO;
    if (some < 0) break;
    done += static_cast<std::size_t>(some);
  }
  if (done != 0 && done < size_) std::memmove(held_.get(), held_.get() + done, size_ - done);
  size_ -= done;
  begin_ += static_cast<std::int64_t>(done);
  return size_ == 0 ? 0 : static_cast<int>(some);
}

int LogBuffer::sync() noexcept {
  if (const int wrong = write_out(); wrong != 0) return wrong;
  return fdatasync(fd_) == 0 ? 0 : -errno;
}

}  // namespace iotune::logstore
