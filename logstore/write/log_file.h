// The files and the clock that a writer stands on, as functions: the preload has the real ones, and
// tests have files that are full, slow or cut.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::logstore {

struct LogFile {
  void* context;
  // As pwrite(2): how many bytes were written, from 1 to `size`, or -errno.
  std::int64_t (*write_at)(void* context, const void* bytes, std::size_t size,
                           std::int64_t offset) noexcept;
  // As fdatasync(2): 0 or -errno.
  int (*sync)(void* context) noexcept;
};

struct LogClock {
  void* context;
  // ns since 1970. It should not go back; where it does, it is taken to stand still.
  std::int64_t (*now_ns)(void* context) noexcept;
};

}  // namespace iotune::logstore
