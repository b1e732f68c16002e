// From an offset in a file to who wrote it: the stream, which of its accesses, and where in the
// stream's log the bytes lie. docs/offset-index.md tells how to use it, README.md how it works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/index/nest_lookup.h"
#include "analyzer/index/packed_array.h"
#include "analyzer/index/segments.h"
#include "analyzer/index/stream_names.h"
#include "analyzer/index/stream_times.h"

namespace iotune::analyzer {

// Streams are numbered from 0, densely: arrays are as long as the largest number.
inline constexpr std::uint32_t kMostStreams = std::uint32_t{1} << 22;
inline constexpr std::uint32_t kHole = UINT32_MAX;

// Bytes of a file that one access wrote last, or that none did.
struct IndexPiece {
  std::int64_t offset;  // bytes, of the first byte in the file
  std::int64_t length;  // bytes; of a hole up to the next data, or to INT64_MAX
  std::uint32_t stream = kHole;
  std::int64_t position = 0;  // of the access in its stream, from 0
  std::int64_t physical = 0;  // bytes in the stream's log, of the piece's first byte

  bool is_hole() const noexcept { return stream == kHole; }
  std::int64_t end() const noexcept { return offset + length; }
  friend bool operator==(const IndexPiece&, const IndexPiece&) = default;
};

// Where a stream goes on, should it be appended to.
struct StreamEnd {
  std::int64_t position = 0;  // accesses so far
  std::int64_t physical = 0;  // bytes of its log so far

  friend bool operator==(const StreamEnd&, const StreamEnd&) = default;
};

// What an index is made of, to be joined with others or written.
struct IndexParts {
  std::vector<Nest> nests;
  std::vector<std::uint32_t> slots;  // streams, by the slots that nests name
  std::vector<Segment> segments;
  std::map<std::uint32_t, std::vector<TimeKnot>> knots;
  std::vector<StreamEnd> ends;  // by stream
  StreamNames names;
};

// Built by IndexBuilder or read_index, and then constant: any number of threads may ask it.
class OffsetIndex {
 public:
  // What lies at `offset` (>= 0), as far as it is of one access: O(log entries + depth), and a
  // step for each access to the same bytes that is not later.
  IndexPiece at(std::int64_t offset) const;

  // Calls use(const IndexPiece&) for what [offset, offset + length) is made of, in order and
  // without gaps; pieces and holes are cut at both ends.
  template <class Use>
  void for_each_piece(std::int64_t offset, std::int64_t length, Use&& use) const {
    const std::int64_t end = length > INT64_MAX - offset ? INT64_MAX : offset + length;
    while (offset < end) {
      IndexPiece piece = at(offset);
      if (piece.length > end - offset) piece.length = end - offset;
      offset += piece.length;
      use(piece);
    }
  }
  std::vector<IndexPiece> pieces(std::int64_t offset, std::int64_t length) const;

  // One past the last byte that was written, 0 if none was.
  std::int64_t end() const noexcept { return end_; }
  std::size_t streams() const noexcept { return end_positions_.size(); }
  StreamEnd stream_end(std::uint32_t stream) const;
  std::string stream_name(std::uint32_t stream) const;  // empty where none was given
  std::int64_t time_of(std::uint32_t stream, std::int64_t position) const {
    return times_.at(stream, position);
  }

  std::size_t nests() const { return finder_.nests(); }
  std::size_t segments() const { return segments_.size(); }
  // Whether accesses may overlap, so that times decide.
  bool contested() const { return contested_; }
  // Whether times decided anything: between accesses that may overlap, or between single ones of
  // which only the later one was kept.
  bool times_decide() const { return contested_ || overlapped_; }
  // Forgets the times of an index that is not contested. False, and nothing forgotten, of others.
  // A sealed index answers as before; what is joined with it later counts as later.
  bool seal();
  // All memory that this index holds, the object included.
  std::size_t memory_bytes() const noexcept;

  IndexParts parts() const;

 private:
  friend class IndexBuilder;

  struct Found {
    WriteOrder order;
    std::int64_t start;     // of the access, or of what a segment has of it
    std::int64_t end;       // of the same
    std::int64_t physical;  // of `start`
    bool contested;
    bool any = false;
  };

  Found find(std::int64_t offset) const;
  std::int64_t end_of_piece(const Found& found, std::int64_t offset) const;
  std::size_t first_segment_from(std::int64_t offset) const noexcept;

  NestLookup finder_;
  PackedArray slots_;
  std::vector<Segment> segments_;             // disjoint, by start
  std::vector<std::int64_t> segment_starts_;  // what is searched lies close
  StreamTimes times_;
  StreamNames names_;
  PackedArray end_positions_;
  PackedArray end_physicals_;
  std::int64_t end_ = 0;
  bool contested_ = false;
  bool overlapped_ = false;
};

}  // namespace iotune::analyzer
