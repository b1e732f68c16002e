#include "analyzer/index/stream_times.h"

#include <algorithm>

#include "analyzer/index/tuple_file.h"

namespace iotune::analyzer {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kNoKnots = -1;  // in place of a first position

std::int64_t between(const TimeKnot& a, const TimeKnot& b, std::int64_t position) noexcept {
  if (b.position <= a.position) return a.time;
  const Wide passed = Wide{b.time} - a.time;
  const Wide share = passed * (position - a.position) / (b.position - a.position);
  return static_cast<std::int64_t>(Wide{a.time} + share);
}

// Modulo 2^64.
std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

StreamTimes::StreamTimes(const std::map<std::uint32_t, std::vector<TimeKnot>>& knots) {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> begin_position;
  std::vector<std::int64_t> others;
  std::vector<std::int64_t> position;
  std::vector<std::int64_t> passed;
  for (const auto& [stream, list] : knots) {
    if (list.empty()) continue;
    const TimeKnot first = list.front();
    while (begin.size() <= stream) {
      begin.push_back(first.time);
      begin_position.push_back(begin.size() <= stream ? kNoKnots : first.position);
      others.push_back(static_cast<std::int64_t>(position.size()));
    }
    for (std::size_t i = 1; i < list.size(); ++i) {
      position.push_back(list[i].position);
      passed.push_back(minus(list[i].time, first.time));
    }
  }
  if (begin.empty()) return;
  others.push_back(static_cast<std::int64_t>(position.size()));
  begin_ = PackedArray(begin);
  begin_position_ = PackedArray(begin_position);
  others_ = PackedArray(others);
  position_ = PackedArray(position);
  passed_ = PackedArray(passed);
}

// Number 0 is the first; the others are named by their place in position_, plus one.
TimeKnot StreamTimes::knot(std::size_t stream, std::size_t number) const noexcept {
  const std::int64_t begin = begin_[stream];
  if (number == 0) return {begin_position_[stream], begin};
  return {position_[number - 1], plus(begin, passed_[number - 1])};
}

std::int64_t StreamTimes::at(std::uint32_t stream, std::int64_t position) const noexcept {
  if (stream >= begin_.size()) return 0;
  const TimeKnot first = knot(stream, 0);
  auto low = static_cast<std::size_t>(others_[stream]);
  const auto end = static_cast<std::size_t>(others_[stream + 1]);
  if (position <= first.position || low == end) return first.time;
  const std::size_t begin = low;
  for (std::size_t left = end - low; left > 0;) {  // the first behind `position`
    const std::size_t half = left / 2;
    const bool upper = position_[low + half] <= position;
    low += upper ? half + 1 : 0;
    left = upper ? left - half - 1 : half;
  }
  const TimeKnot before = low == begin ? first : knot(stream, low);
  return low == end ? before.time : between(before, knot(stream, low + 1), position);
}

std::map<std::uint32_t, std::vector<TimeKnot>> StreamTimes::knots() const {
  std::map<std::uint32_t, std::vector<TimeKnot>> all;
  for (std::size_t stream = 0; stream < begin_.size(); ++stream) {
    const TimeKnot first = knot(stream, 0);
    if (first.position == kNoKnots) continue;
    std::vector<TimeKnot>& list = all[static_cast<std::uint32_t>(stream)];
    list.push_back(first);
    const auto end = static_cast<std::size_t>(others_[stream + 1]);
    for (auto i = static_cast<std::size_t>(others_[stream]); i < end; ++i) {
      list.push_back(knot(stream, i + 1));
    }
  }
  return all;
}

std::size_t StreamTimes::memory_bytes() const noexcept {
  return begin_.memory_bytes() + begin_position_.memory_bytes() + others_.memory_bytes() +
         position_.memory_bytes() + passed_.memory_bytes();
}

void StreamTimes::write(std::vector<std::byte>& to) const {
  for (const PackedArray* array : {&begin_, &begin_position_, &others_, &position_, &passed_}) {
    append_tuples(to, array->unpacked(), 1);
  }
}

bool StreamTimes::read(patterns::ByteReader& in, std::size_t most,
                       std::map<std::uint32_t, std::vector<TimeKnot>>& knots) {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> begin_position;
  std::vector<std::int64_t> others;
  std::vector<std::int64_t> position;
  std::vector<std::int64_t> passed;
  for (auto* values : {&begin, &begin_position, &others, &position, &passed}) {
    if (!read_tuples(in, 1, most, *values)) return false;
  }
  const std::size_t streams = begin.size();
  const auto count = static_cast<std::int64_t>(position.size());
  if (begin_position.size() != streams || passed.size() != position.size()) return false;
  if (others.size() != (streams == 0 ? 0 : streams + 1)) return false;
  if (streams == 0) return position.empty();
  if (others.front() != 0 || others.back() != count) return false;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    if (others[stream + 1] < others[stream] || others[stream + 1] > count) return false;
    if (begin_position[stream] == kNoKnots) {
      if (others[stream] != others[stream + 1]) return false;
      continue;
    }
    std::vector<TimeKnot>& list = knots[static_cast<std::uint32_t>(stream)];
    list.push_back({begin_position[stream], begin[stream]});
    const auto end = static_cast<std::size_t>(others[stream + 1]);
    for (auto i = static_cast<std::size_t>(others[stream]); i < end; ++i) {
      list.push_back({position[i], plus(begin[stream], passed[i])});
    }
  }
  return true;
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
