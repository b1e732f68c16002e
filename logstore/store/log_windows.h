// What was read ahead of logs. The bytes of a log never change, so that nothing here grows stale;
// small reads of what one writer wrote in a row lie in a row in its log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iotune::logstore {

// One thread at a time.
class LogWindows {
 public:
  // Which log: two numbers that never stand for another one.
  struct Log {
    std::uint64_t view = 0;
    std::uint32_t writer = 0;
    bool operator==(const Log&) const noexcept = default;
  };

  // Copies bytes that are held; false where they are not all.
  bool read(Log log, std::int64_t physical, void* to, std::size_t size) noexcept;
  // Is this read, of bytes that are not held, the next of a row? Remembers it.
  bool goes_on(Log log, std::int64_t physical, std::size_t size) noexcept;
  // Holds what the log has from there on. False where it cannot be read, or there is no memory.
  bool fill(Log log, int fd, std::int64_t physical) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t kWindows = 8;
  static constexpr std::size_t kWindowBytes = 65536;
  // How far apart the reads of a row may be.
  static constexpr std::int64_t kLongestGap = 4096;

  struct Window {
    Log log{};
    std::int64_t next = -1;  // where the last read ended
    std::int64_t begin = 0, size = 0;
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t used = 0;
  };
  Window* find(Log log) noexcept;

  std::array<Window, kWindows> windows_;
  std::uint64_t uses_ = 0;
};

}  // namespace iotune::logstore
