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

// Whether three segments are alike and in even steps.
bool goes_on(const Segment* const* at) {
  const Segment &a = *at[0], &b = *at[1], &c = *at[2];
  return c.start - b.start == b.start - a.start &&
         c.position - b.position == b.position - a.position &&
         c.physical - b.physical == b.physical - a.physical && c.length == b.length &&
         b.length == a.length;
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
  std::vector<Nest> alike;
  for (std::size_t i = 0; i + least_run <= by_length.size();) {
    std::size_t run = 2;
    while (i + run < by_length.size() && goes_on(&by_length[i + run - 2])) ++run;
    if (run < least_run) {
      // The last of these may be the first of the next.
      i += run - 1;
      continue;
    }
    alike.clear();
    for (std::size_t k = i; k < i + run; ++k) {
      const Segment& one = *by_length[k];
      alike.push_back(
          {one.start, one.length, one.position, one.physical, slots.slot_of(one.stream), {}});
      moved[static_cast<std::size_t>(by_length[k] - segments.data())] = true;
    }
    fold_run(alike, slots, nests);
    i += run;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!moved[i]) segments[kept++] = segments[i];
  }
  segments.resize(kept);
}

}  // namespace iotune::analyzer
