#include "analyzer/index/segments.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace iotune::analyzer {
namespace {

bool starts_before(const Segment& a, const Segment& b) {
  return a.start < b.start;
}

bool disjoint(const std::vector<Segment>& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].start < sorted[i - 1].end()) return false;
  }
  return true;
}

struct Step {
  std::int64_t start, position, physical;
  bool operator==(const Step&) const = default;
};

Step step_between(const Segment& from, const Segment& to) {
  return {to.start - from.start, to.position - from.position, to.physical - from.physical};
}

Nest nest_of(const Segment* const* run, std::size_t count, SlotTable& slots) {
  const Segment& first = *run[0];
  const Step step = step_between(first, *run[1]);
  Nest nest{first.start, first.length, first.position, first.physical, 0, {}};
  nest.levels.push_back({.stride = step.start,
                         .count = static_cast<std::int64_t>(count),
                         .position_step = step.position,
                         .physical_step = step.physical,
                         .slot_step = 0});
  std::vector<std::uint32_t> streams;
  bool one_stream = true;
  for (std::size_t i = 0; i < count; ++i) {
    streams.push_back(run[i]->stream);
    one_stream = one_stream && run[i]->stream == first.stream;
  }
  if (one_stream) {
    nest.slot = slots.slot_of(first.stream);
  } else {
    nest.slot = slots.slots_of(streams);
    nest.levels[0].slot_step = 1;
  }
  return nest;
}

}  // namespace

void resolve_overlaps(std::vector<Segment>& segments, const StreamTimes& times) {
  if (!std::is_sorted(segments.begin(), segments.end(), starts_before)) {
    std::sort(segments.begin(), segments.end(), starts_before);
  }
  if (disjoint(segments)) return;
  using Open = std::pair<WriteOrder, std::size_t>;
  std::priority_queue<Open> open;
  std::vector<Segment> visible;
  visible.reserve(segments.size());
  std::size_t last = SIZE_MAX;  // the segment whose piece was appended last
  std::size_t next = 0;
  std::int64_t at = 0;
  while (next < segments.size() || !open.empty()) {
    if (open.empty()) at = segments[next].start;
    for (; next < segments.size() && segments[next].start <= at; ++next) {
      const Segment& s = segments[next];
      open.push({{times.at(s.stream, s.position), s.stream, s.position}, next});
    }
    const std::size_t top = open.top().second;
    const Segment& whole = segments[top];
    if (whole.end() <= at) {
      open.pop();
      continue;
    }
    std::int64_t until = whole.end();
    if (next < segments.size()) until = std::min(until, segments[next].start);
    if (last == top && visible.back().end() == at) {
      visible.back().length += until - at;
    } else {
      Segment piece = whole;
      piece.physical += at - whole.start;
      piece.start = at;
      piece.length = until - at;
      visible.push_back(piece);
      last = top;
    }
    at = until;
  }
  segments = std::move(visible);
}

void fold_segments(std::vector<Segment>& segments, std::size_t least_run, SlotTable& slots,
                   std::vector<Nest>& nests) {
  std::vector<const Segment*> by_length(segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) by_length[i] = &segments[i];
  std::stable_sort(by_length.begin(), by_length.end(),
                   [](const Segment* a, const Segment* b) { return a->length < b->length; });
  std::vector<bool> moved(segments.size());
  for (std::size_t i = 0; i + least_run <= by_length.size();) {
    const Step step = step_between(*by_length[i], *by_length[i + 1]);
    std::size_t run = 1;
    while (i + run < by_length.size() && by_length[i + run]->length == by_length[i]->length &&
           step_between(*by_length[i + run - 1], *by_length[i + run]) == step) {
      ++run;
    }
    if (run < least_run) {
      // The last of these may be the first of the next.
      i += std::max<std::size_t>(1, run - 1);
      continue;
    }
    nests.push_back(nest_of(&by_length[i], run, slots));
    for (std::size_t k = i; k < i + run; ++k) {
      moved[static_cast<std::size_t>(by_length[k] - segments.data())] = true;
    }
    i += run;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!moved[i]) segments[kept++] = segments[i];
  }
  segments.resize(kept);
}

}  // namespace iotune::analyzer
