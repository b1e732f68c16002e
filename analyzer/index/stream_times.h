// When each access of a stream was made, as far as the caller gave it: what decides which of two
// accesses to one place is the later one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/index/packed_array.h"
#include "patterns/bytes.h"

namespace iotune::analyzer {

// At this access of its stream the clock stood at `time`, in whatever unit the caller counts.
struct TimeKnot {
  std::int64_t position;
  std::int64_t time;

  friend constexpr bool operator==(const TimeKnot&, const TimeKnot&) noexcept = default;
};

// Between two knots time runs evenly, before the first and after the last it stands still.
class StreamTimes {
 public:
  StreamTimes() = default;
  // By stream; each list ascends in positions and does not descend in times (see check_knots).
  explicit StreamTimes(const std::map<std::uint32_t, std::vector<TimeKnot>>& knots);

  // 0 for a stream beyond the last one with knots.
  std::int64_t at(std::uint32_t stream, std::int64_t position) const noexcept;
  std::map<std::uint32_t, std::vector<TimeKnot>> knots() const;
  std::size_t memory_bytes() const noexcept;

  void write(std::vector<std::byte>& to) const;
  // False on damage, and where more than `most` knots are there. What the knots say is not checked.
  static bool read(patterns::ByteReader& in, std::size_t most,
                   std::map<std::uint32_t, std::vector<TimeKnot>>& knots);

 private:
  TimeKnot knot(std::size_t stream, std::size_t number) const noexcept;

  // Of each stream its first knot. The others of stream i stand from others_[i] on, as what has
  // passed since the first: streams that began alike and took equally long need few bits.
  PackedArray begin_;
  PackedArray begin_position_;
  PackedArray others_;
  PackedArray position_;
  PackedArray passed_;
};

// Sorts by position and drops knots that lie on the line between their neighbours. Returns what is
// wrong, if anything: a time that goes back, or two at one position.
std::optional<std::string> tidy_knots(std::vector<TimeKnot>& knots);

}  // namespace iotune::analyzer
