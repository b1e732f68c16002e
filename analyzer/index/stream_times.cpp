#include "analyzer/index/stream_times.h"

#include <algorithm>

namespace iotune::analyzer {
namespace {

__extension__ using Wide = __int128;

std::int64_t between(const TimeKnot& a, const TimeKnot& b, std::int64_t position) noexcept {
  const Wide passed = Wide{b.time} - a.time;
  const Wide share = passed * (position - a.position) / (b.position - a.position);
  return static_cast<std::int64_t>(Wide{a.time} + share);
}

}  // namespace

StreamTimes::StreamTimes(const std::map<std::uint32_t, std::vector<TimeKnot>>& knots) {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> position;
  std::vector<std::int64_t> passed;
  for (const auto& [stream, list] : knots) {
    if (list.empty()) continue;
    while (first.size() <= stream) {
      first.push_back(static_cast<std::int64_t>(position.size()));
      begin.push_back(begin.empty() ? list.front().time : begin.back());
    }
    begin.back() = list.front().time;
    for (const TimeKnot& knot : list) {
      position.push_back(knot.position);
      passed.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(knot.time) -
                                                 static_cast<std::uint64_t>(list.front().time)));
    }
  }
  if (first.empty()) return;
  first.push_back(static_cast<std::int64_t>(position.size()));
  first_ = PackedArray(first);
  begin_ = PackedArray(begin);
  position_ = PackedArray(position);
  passed_ = PackedArray(passed);
}

std::int64_t StreamTimes::at(std::uint32_t stream, std::int64_t position) const noexcept {
  if (std::size_t{stream} + 1 >= first_.size()) return 0;
  auto low = static_cast<std::size_t>(first_[stream]);
  auto high = static_cast<std::size_t>(first_[stream + 1]);
  if (low == high) return 0;
  const auto knot = [&](std::size_t i) {
    return TimeKnot{position_[i],
                    static_cast<std::int64_t>(static_cast<std::uint64_t>(begin_[stream]) +
                                              static_cast<std::uint64_t>(passed_[i]))};
  };
  const std::size_t end = high;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (position_[middle] <= position ? low : high) = middle;
  }
  const TimeKnot before = knot(low);
  if (position <= before.position || low + 1 == end) return before.time;
  return between(before, knot(low + 1), position);
}

std::map<std::uint32_t, std::vector<TimeKnot>> StreamTimes::knots() const {
  std::map<std::uint32_t, std::vector<TimeKnot>> all;
  for (std::size_t stream = 0; stream + 1 < first_.size(); ++stream) {
    const auto end = static_cast<std::size_t>(first_[stream + 1]);
    for (auto i = static_cast<std::size_t>(first_[stream]); i < end; ++i) {
      const auto number = static_cast<std::uint32_t>(stream);
      const auto time =
          static_cast<std::uint64_t>(begin_[stream]) + static_cast<std::uint64_t>(passed_[i]);
      all[number].push_back({position_[i], static_cast<std::int64_t>(time)});
    }
  }
  return all;
}

std::size_t StreamTimes::memory_bytes() const noexcept {
  return first_.memory_bytes() + begin_.memory_bytes() + position_.memory_bytes() +
         passed_.memory_bytes();
}

std::optional<std::string> tidy_knots(std::vector<TimeKnot>& knots) {
  std::stable_sort(knots.begin(), knots.end(),
                   [](const TimeKnot& a, const TimeKnot& b) { return a.position < b.position; });
  std::size_t kept = 0;
  for (const TimeKnot& knot : knots) {
    if (kept > 0) {
      const TimeKnot& last = knots[kept - 1];
      if (last == knot) continue;
      if (last.position == knot.position) return "two times of one access";
      if (knot.time < last.time) return "a time before that of an earlier access";
    }
    if (kept > 1) {
      const TimeKnot& before = knots[kept - 2];
      const TimeKnot& last = knots[kept - 1];
      // Exactly on the line: what is dropped is computed again.
      const Wide rise = (Wide{knot.time} - before.time) * (last.position - before.position);
      const Wide run = Wide{knot.position} - before.position;
      if (rise == (Wide{last.time} - before.time) * run) --kept;
    }
    knots[kept++] = knot;
  }
  knots.resize(kept);
  return std::nullopt;
}

}  // namespace iotune::analyzer
