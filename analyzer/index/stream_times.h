// When each access of a stream was made, as far as the caller told: what decides which of two
// accesses to one place is the later one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/index/packed_array.h"

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

  // 0 for a stream without knots.
  std::int64_t at(std::uint32_t stream, std::int64_t position) const noexcept;
  std::map<std::uint32_t, std::vector<TimeKnot>> knots() const;
  std::size_t memory_bytes() const noexcept;

 private:
  // Knots of stream i stand from first_[i] on. A time is kept as what has passed since the
  // stream's first knot: streams that began alike and took equally long need few bits.
  PackedArray first_;
  PackedArray begin_;
  PackedArray position_;
  PackedArray passed_;
};

// Sorts by position and drops knots that lie on the line between their neighbours. Returns what is
// wrong, if anything: a time that goes back, or two at one position.
std::optional<std::string> tidy_knots(std::vector<TimeKnot>& knots);

}  // namespace iotune::analyzer
