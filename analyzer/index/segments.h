// What belongs to no nest: accesses one by one, cut to what later ones left of them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/index/fold_nests.h"
#include "analyzer/index/nest.h"
#include "analyzer/index/stream_times.h"

namespace iotune::analyzer {

// A piece of one access: of its bytes from `start` on.
struct Segment {
  std::int64_t start;     // bytes in the file
  std::int64_t length;    // bytes, > 0
  std::int64_t position;  // of the access in its stream
  std::int64_t physical;  // bytes in the stream's log, of this piece's first byte
  std::uint32_t stream;
  // Something else may be written to the same place.
  bool contested = false;

  std::int64_t end() const noexcept { return start + length; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

// Of two accesses the later one is that with the larger (time, stream, position).
struct WriteOrder {
  std::int64_t time;
  std::uint32_t stream;
  std::int64_t position;

  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes for it compares with 0
  friend constexpr auto operator<=>(const WriteOrder&, const WriteOrder&) noexcept = default;
};

// Sorts by start, and where segments overlap leaves the later one's bytes only: O(n log n).
void resolve_overlaps(std::vector<Segment>& segments, const StreamTimes& times);

// Moves progressions of at least `least_run` segments into nests of one level. The segments must be
// sorted and disjoint; what is left is so too.
void fold_segments(std::vector<Segment>& segments, std::size_t least_run, SlotTable& slots,
                   std::vector<Nest>& nests);

}  // namespace iotune::analyzer
