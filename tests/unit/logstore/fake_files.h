// Files and a clock in memory, that can be full, interrupted, cut, or fail.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "logstore/write/log_file.h"
#include "logstore/write/log_writer.h"

namespace iotune::logstore::testing {

struct FakeFile {
  std::vector<std::byte> bytes;
  std::size_t synced = 0;       // bytes that were there at the last sync
  std::size_t room = SIZE_MAX;  // larger: ENOSPC, after a short write
  std::size_t most = SIZE_MAX;  // bytes of one write
  int interruptions = 0;        // so many writes are EINTR
  int sync_error = 0;
  int syncs = 0;
  std::function<void()> at_sync;

  std::int64_t write_at(const void* from, std::size_t size, std::int64_t offset) {
    if (interruptions > 0) {
      --interruptions;
      return -EINTR;
    }
    const auto at = static_cast<std::size_t>(offset);
    if (at >= room) return -ENOSPC;
    size = std::min({size, most, room - at});
    if (bytes.size() < at + size) bytes.resize(at + size);
    std::memcpy(bytes.data() + at, from, size);
    return static_cast<std::int64_t>(size);
  }
  int sync() {
    ++syncs;
    if (at_sync) at_sync();
    if (sync_error != 0) return -sync_error;
    synced = bytes.size();
    return 0;
  }

  LogFile file() {
    return {this,
            [](void* self, const void* from, std::size_t size, std::int64_t offset) noexcept {
              return static_cast<FakeFile*>(self)->write_at(from, size, offset);
            },
            [](void* self) noexcept { return static_cast<FakeFile*>(self)->sync(); }};
  }
};

// Every look at it takes a while.
struct FakeClock {
  std::int64_t now = 1'700'000'000'000'000'000;
  std::function<std::int64_t()> step = [] { return std::int64_t{100}; };

  LogClock clock() {
    return {this, [](void* self) noexcept {
              auto* clock = static_cast<FakeClock*>(self);
              return clock->now += clock->step();
            }};
  }
};

inline constexpr std::uint64_t kId = 0x1234;

// A writer with its files. All writers of a test share a clock.
struct FakeWriter {
  FakeWriter(std::string called, FakeClock& clock, const LogWriterSizes& sizes = {})
      : name(std::move(called)),
        arena(LogWriter::arena_bytes(sizes) / 8 + 1),
        writer(log.file(), index.file(), clock.clock(), std::as_writable_bytes(std::span(arena)),
               sizes) {
    writer.begin(kId);
  }

  std::string name;
  FakeFile log, index;
  std::vector<std::uint64_t> arena;
  LogWriter writer;
};

}  // namespace iotune::logstore::testing
