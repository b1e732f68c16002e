// One process's side of a container: appends what is written to its log, and says in its index
// where in the file that belongs. In the preload: no C++ runtime, no allocation, and no memory but
// what it is given.
//
// One thread at a time; who calls sees to that. Bytes are never lost silently: whatever append()
// said was written is in the index after sync() or close() returned 0, and in memory until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "logstore/format.h"
#include "logstore/write/block_encoder.h"
#include "logstore/write/log_file.h"
#include "logstore/write/time_line.h"
#include "patterns/nest_finder.h"

namespace iotune::logstore {

struct LogWriterSizes {
  std::uint32_t terms = 256;  // of the loop finder, 16 or more
  std::uint32_t knots = 512;  // 3 or more
};

class LogWriter {
 public:
  static std::size_t arena_bytes(const LogWriterSizes& sizes = {}) noexcept;

  // `arena`: arena_bytes() of the same sizes, aligned to 8. The arena, the files and the clock must
  // outlive the writer. Both files are empty, and nobody else writes to them.
  LogWriter(const LogFile& log, const LogFile& index, const LogClock& clock,
            std::span<std::byte> arena, const LogWriterSizes& sizes = {}) noexcept;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Writes the index's head; before anything else. 0 or -errno, and may then be tried again.
  int begin(std::uint64_t container_id, std::int64_t shift_ns = 0,
            std::int64_t error_ns = -1) noexcept;

  // Writes `size` bytes to `offset` of the file. As pwrite(2): how many bytes were written, which
  // may be fewer, or -errno where none were. -EFBIG beyond kLargestFile.
  std::int64_t append(std::int64_t offset, const void* bytes, std::size_t size) noexcept;

  // The file ends at `size`: what was written behind it is gone, what is missing before it is zero.
  // 0 or -errno.
  int truncate(std::int64_t size) noexcept { return make_hole(size, 0); }
  // The bytes become zeros; the size does not change. length > 0. 0 or -errno.
  int punch(std::int64_t offset, std::int64_t length) noexcept;

  // 0: all entries so far are on the storage, data before index. Else -errno; after the log's own
  // sync failed once, always that error: the system may have dropped the bytes.
  int sync() noexcept;
  // The same without the storage: all entries are in the index file, and survive a death of this
  // process.
  int flush() noexcept { return write_all(0); }
  // flush(). The caller closes the files.
  int close() noexcept { return flush(); }

  std::int64_t log_bytes() const noexcept { return log_bytes_; }
  std::int64_t index_bytes() const noexcept { return index_bytes_; }
  std::int64_t entries() const noexcept { return line_.entries(); }

 private:
  static constexpr std::size_t kMostHoles = 16;

  int make_hole(std::int64_t start, std::int64_t length) noexcept;
  int make_room() noexcept;
  int take_pending() noexcept;
  int write_all(std::uint32_t flags) noexcept;
  int write_block(std::uint32_t terms, std::uint32_t flags) noexcept;
  int write_index(std::span<const std::byte> bytes) noexcept;
  std::int64_t now() noexcept { return clock_.now_ns(clock_.context) - begin_ns_; }

  LogFile log_;
  LogFile index_;
  LogClock clock_;
  patterns::NestFinder finder_;
  TimeLine line_;
  BlockEncoder encoder_;

  std::int64_t begin_ns_ = 0;
  std::int64_t log_bytes_ = 0;
  std::int64_t index_bytes_ = 0;
  std::int64_t position_ = 0;  // entries in blocks that were written
  std::int64_t physical_ = 0;  // bytes of the log that these stand for
  std::int64_t durable_entries_ = 0;
  int sync_error_ = 0;

  // A write that the finder has no room for as long as no block can be written.
  patterns::Extent pending_{};
  bool has_pending_ = false;
  // Holes behind all of the finder's terms.
  Hole holes_[kMostHoles];
  std::size_t hole_count_ = 0;
};

}  // namespace iotune::logstore
