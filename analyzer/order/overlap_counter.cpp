#include "analyzer/order/overlap_counter.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "analyzer/order/count_overlaps.h"
#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

struct Bounded {
  RunBounds bounds;
  const AccessRun* run;
};

// Runs by where they begin; what is single stands apart from loops.
struct Sorted {
  std::vector<Bounded> singles, loops;
  std::int64_t longest_single = 0;

  explicit Sorted(const std::vector<AccessRun>& runs) {
    for (const AccessRun& run : runs) {
      (run.levels.empty() ? singles : loops).push_back({bounds_of(run), &run});
      if (run.levels.empty()) longest_single = std::max(longest_single, run.length);
    }
    const auto by_first = [](const Bounded& x, const Bounded& y) {
      return x.bounds.first < y.bounds.first;
    };
    std::sort(singles.begin(), singles.end(), by_first);
    std::sort(loops.begin(), loops.end(), by_first);
  }

  // The singles that may touch [first, end).
  std::span<const Bounded> near(RunBounds wanted) const {
    const auto before = [](const Bounded& one, std::int64_t at) { return one.bounds.first < at; };
    const auto from =
        std::lower_bound(singles.begin(), singles.end(), wanted.first - longest_single, before);
    const auto to = std::lower_bound(from, singles.end(), wanted.end, before);
    return {from, to};
  }
};

bool meet(RunBounds a, RunBounds b) {
  return a.first < b.end && b.first < a.end;
}

std::vector<std::int64_t> ends_of(const std::vector<Bounded>& singles) {
  std::vector<std::int64_t> ends;
  ends.reserve(singles.size());
  for (const Bounded& one : singles) ends.push_back(one.bounds.end);
  std::sort(ends.begin(), ends.end());
  return ends;
}

// Pairs of which the first has ended where the second begins; both lists are sorted.
std::uint64_t pairs_apart(const std::vector<std::int64_t>& ends,
                          const std::vector<Bounded>& begins) {
  std::uint64_t pairs = 0;
  std::size_t ended = 0;
  for (const Bounded& one : begins) {
    while (ended < ends.size() && ends[ended] <= one.bounds.first) ++ended;
    pairs += ended;
  }
  return pairs;
}

// All pairs less those of which one lies wholly before the other.
std::uint64_t count_singles(const std::vector<Bounded>& a, const std::vector<Bounded>& b) {
  if (a.empty() || b.empty()) return 0;
  return a.size() * b.size() - pairs_apart(ends_of(a), b) - pairs_apart(ends_of(b), a);
}

// Calls `take(run of a, run of b)` where one of both is a loop and they may touch.
template <typename Take>
void each_pair_with_loop(const Sorted& a, const Sorted& b, Take&& take) {
  for (const Bounded& loop : a.loops) {
    for (const Bounded& other : b.loops) {
      if (other.bounds.first >= loop.bounds.end) break;
      if (meet(loop.bounds, other.bounds) && !take(*loop.run, *other.run)) return;
    }
    for (const Bounded& single : b.near(loop.bounds)) {
      if (meet(loop.bounds, single.bounds) && !take(*loop.run, *single.run)) return;
    }
  }
  for (const Bounded& loop : b.loops) {
    for (const Bounded& single : a.near(loop.bounds)) {
      if (meet(loop.bounds, single.bounds) && !take(*single.run, *loop.run)) return;
    }
  }
}

}  // namespace

OverlapCounter::OverlapCounter(std::span<const AccessRun> a, std::span<const AccessRun> b)
    : a_{a, {}}, b_{b, {}} {
  for (Side* side : {&a_, &b_}) {
    std::uint64_t last = 0;
    for (const AccessRun& run : side->runs) {
      last = std::max(last, last_segment_of(run));
      side->last_segments.push_back(last);
    }
  }
}

std::vector<AccessRun> OverlapCounter::Side::within(SegmentRange range) const {
  std::vector<AccessRun> found;
  const auto first = static_cast<std::size_t>(
      std::lower_bound(last_segments.begin(), last_segments.end(), range.from) -
      last_segments.begin());
  for (const AccessRun& run : runs.subspan(first)) {
    if (run.segment >= range.until) break;
    clip_segments(run, range.from, range.until, found);
  }
  return found;
}

std::uint64_t OverlapCounter::count(SegmentRange of_a, SegmentRange of_b) const {
  const std::vector<AccessRun> runs_a = a_.within(of_a);
  const std::vector<AccessRun> runs_b = runs_a.empty() ? runs_a : b_.within(of_b);
  if (runs_b.empty()) return 0;
  const Sorted a(runs_a), b(runs_b);
  std::uint64_t pairs = count_singles(a.singles, b.singles);
  each_pair_with_loop(a, b, [&](const AccessRun& x, const AccessRun& y) {
    pairs = saturating_sum(pairs, count_overlaps(x, y));
    return true;
  });
  return pairs;
}

std::optional<std::pair<AccessRun, AccessRun>> OverlapCounter::example(SegmentRange of_a,
                                                                       SegmentRange of_b) const {
  const std::vector<AccessRun> runs_a = a_.within(of_a), runs_b = b_.within(of_b);
  const Sorted a(runs_a), b(runs_b);
  std::optional<std::pair<AccessRun, AccessRun>> found;
  each_pair_with_loop(a, b, [&](const AccessRun& x, const AccessRun& y) {
    found = one_overlap(x, y);
    return !found;
  });
  // Of singles that overlap one begins within the other.
  for (const Bounded& one : a.singles) {
    if (found) break;
    for (const Bounded& other : b.near(one.bounds)) {
      if (!meet(one.bounds, other.bounds)) continue;
      found.emplace(*one.run, *other.run);
      break;
    }
  }
  return found;
}

}  // namespace iotune::analyzer
