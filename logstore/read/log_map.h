// Which byte of the file lies where: the indexes of all writers merged into one. FORMAT.md says
// which write holds where several cover a byte, and what becomes of damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/index/offset_index.h"
#include "logstore/read/limits.h"
#include "logstore/read/merged_index.h"
#include "recorder/read/result.h"

namespace iotune::logstore {

// What a container has of one writer.
struct WriterBytes {
  std::string name;
  std::span<const std::byte> index;  // empty where it has none
  std::int64_t log_bytes = 0;        // 0 where it has none
  // What of it a merged index has already, where it grew after that: bytes of its index, and where
  // its entries and its log stood.
  std::int64_t covered_bytes = 0;
  analyzer::StreamEnd covered_end = {};
};

// A merged index, and how long the logs are that it covers.
struct CoveredBytes {
  const MergedIndex& merged;
  std::vector<std::int64_t> log_bytes;
};

// What was found about a writer while merging.
struct WriterReport {
  std::string name;
  std::int64_t entries = 0;         // writes and holes
  std::int64_t log_bytes = 0;       // in the log
  std::int64_t durable_bytes = 0;   // of them, what a durable block vouches for
  std::int64_t unplaced_bytes = 0;  // at the log's end: no block says where they belong
  std::int64_t dropped_bytes = 0;   // of writes that the log does not hold and nobody vouches for
  std::int64_t missing_bytes = 0;   // of writes that the log should hold and does not
  std::uint64_t index_bytes_lost = 0;  // of the index, passed over as damage
  bool has_index = false;
  bool is_covered = false;  // by the merged index

  // All that a durable block vouched for is there, and nothing of the index is unreadable.
  bool is_whole() const { return has_index && missing_bytes == 0 && index_bytes_lost == 0; }
};

struct LogPiece {
  enum class Kind : std::uint8_t { kHole, kData, kMissing };

  std::int64_t offset;  // in the file
  std::int64_t length;  // bytes, > 0
  Kind kind;
  std::uint32_t writer = analyzer::kHole;  // unless a hole
  std::int64_t physical = 0;               // in the writer's log, of the piece's first byte

  std::int64_t end() const noexcept { return offset + length; }
};

// Constant once made: any number of threads may ask it.
class LogMap {
 public:
  // Writers get their numbers in the order of their names, behind those that `covered` has. An
  // error where the bytes are of a newer version or of another container than `container_id`, or go
  // beyond the limits; damage is no error and stands in `reports`, one for each writer in their
  // order.
  static Result<LogMap> merge(std::uint64_t container_id, std::vector<WriterBytes> writers,
                              std::vector<WriterReport>& reports, const ReadLimits& limits = {},
                              const CoveredBytes* covered = nullptr);

  std::int64_t size() const noexcept { return size_; }

  // Calls use(const LogPiece&) for what [offset, offset + length) is made of, up to size(), in
  // order and without gaps.
  template <class Use>
  void for_each_piece(std::int64_t offset, std::int64_t length, Use&& use) const {
    if (offset < 0 || offset >= size_ || length <= 0) return;
    const std::int64_t most = size_ - offset;
    index_.for_each_piece(offset, length < most ? length : most,
                          [&](const analyzer::IndexPiece& piece) { split(piece, use); });
  }
  std::vector<LogPiece> pieces(std::int64_t offset, std::int64_t length) const;

  // The first piece of what begins at `offset`, which lies before size(). It may be shorter than
  // what the file has of its kind there.
  LogPiece at(std::int64_t offset) const;

  std::size_t writers() const noexcept { return log_bytes_.size(); }
  std::string writer_name(std::uint32_t writer) const { return index_.stream_name(writer); }
  std::int64_t log_bytes(std::uint32_t writer) const { return log_bytes_[writer]; }

  const analyzer::OffsetIndex& index() const noexcept { return index_; }
  // All memory that is held, the object included.
  std::size_t memory_bytes() const noexcept {
    return sizeof *this - sizeof index_ + index_.memory_bytes() + log_bytes_.memory_bytes();
  }

 private:
  // Places from here on stand for holes: kLargestFile + the offset in the file.
  static bool is_hole(const analyzer::IndexPiece& piece) noexcept;

  template <class Use>
  void split(const analyzer::IndexPiece& piece, Use& use) const {
    if (is_hole(piece)) {
      use(LogPiece{piece.offset, piece.length, LogPiece::Kind::kHole});
      return;
    }
    const std::int64_t there = log_bytes_[piece.stream] - piece.physical;
    const std::int64_t data = there < 0 ? 0 : there < piece.length ? there : piece.length;
    if (data > 0) {
      use(LogPiece{piece.offset, data, LogPiece::Kind::kData, piece.stream, piece.physical});
    }
    if (data < piece.length) {
      use(LogPiece{piece.offset + data, piece.length - data, LogPiece::Kind::kMissing, piece.stream,
                   piece.physical + data});
    }
  }

  analyzer::OffsetIndex index_;
  analyzer::PackedArray log_bytes_;
  std::int64_t size_ = 0;
};

}  // namespace iotune::logstore
