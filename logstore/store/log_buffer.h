// The end of a log, gathered in memory: many small writes become one that the kernel sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "logstore/write/log_file.h"

namespace iotune::logstore {

// One thread at a time.
class LogBuffer {
 public:
  // Memory for it is taken with the first small write.
  static constexpr std::size_t kBytes = 65536;
  // Larger writes go straight.
  static constexpr std::size_t kLargestGathered = 16384;

  explicit LogBuffer(int fd) noexcept : fd_(fd) {}

  // As LogFile. A write is held; an error is about writes that were held before, which stay so.
  std::int64_t write_at(const void* bytes, std::size_t size, std::int64_t offset) noexcept;
  // All that is held is in the file; 0 or -errno, and then what is not there is still held.
  int write_out() noexcept;
  // From here on the file's bytes are held and not in it; INT64_MAX: none are.
  std::int64_t held_from() const noexcept { return size_ == 0 ? INT64_MAX : begin_; }
  // write_out(), and on the storage.
  int sync() noexcept;

 private:
  int fd_;
  std::unique_ptr<std::byte[]> held_;
  std::size_t size_ = 0;
  std::int64_t begin_ = 0;  // where in the file what is held begins
};

}  // namespace iotune::logstore
