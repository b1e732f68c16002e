#include "analyzer/order/count_overlaps.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace iotune::analyzer {
namespace {

// Places are below 2^63 and counts below 2^63: sums of products of two fit.
using Wide = __int128;

Wide floor_of(Wide value, Wide by) {
  return value >= 0 ? value / by : -((-value + by - 1) / by);
}
Wide ceiling_of(Wide value, Wide by) {
  return -floor_of(-value, by);
}
Wide clamped(Wide value, Wide least, Wide most) {
  return std::min(std::max(value, least), most);
}

// The sum of floor((a k + b) / m) for k in [0, n); a, b >= 0.
Wide floor_sum(Wide n, Wide m, Wide a, Wide b) {
  Wide sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const Wide most = a * n + b;
    if (most < m) break;
    n = most / m;
    b = most % m;
    std::swap(m, a);
  }
  return sum;
}

// Differences of two runs' places: a sum of such levels. A stride that both runs have is one level
// whose index is the sum of two.
struct Level {
  Wide stride;
  Wide count, other = 1;

  Wide indices() const { return count + other - 1; }
  Wide total() const { return count * other; }
  // In how many ways an index up to and with `index` comes about.
  Wide ways_up_to(Wide index) const {
    if (index < 0) return 0;
    if (index >= indices() - 1) return total();
    const Wide few = std::min(count, other), many = std::max(count, other);
    const auto triangle = [](Wide n) { return n * (n + 1) / 2; };
    if (index < few) return triangle(index + 1);
    if (index < many) return triangle(few) + (index - few + 1) * few;
    return total() - triangle(indices() - 1 - index);
  }
  Wide ways(Wide first, Wide last) const { return ways_up_to(last) - ways_up_to(first - 1); }
};

using Levels = std::span<const Level>;

Wide span_of(Levels levels) {
  Wide span = 0;
  for (const Level& level : levels) span += (level.indices() - 1) * level.stride;
  return span;
}

Wide total_of(Levels levels) {
  Wide total = 1;
  for (const Level& level : levels) total *= level.total();
  return total;
}

// Of two plain levels, how many sums are at most `most`.
Wide count_up_to(const Level& outer, const Level& inner, Wide most) {
  const Wide any = clamped(floor_of(most, outer.stride) + 1, 0, outer.count);
  const Wide last_inner = (inner.count - 1) * inner.stride;
  const Wide all = clamped(floor_of(most - last_inner, outer.stride) + 1, 0, any);
  Wide count = all * inner.count;
  if (any > all) {
    count += floor_sum(any - all, inner.stride, outer.stride, most - (any - 1) * outer.stride);
    count += any - all;
  }
  return count;
}

// How many sums lie in [least, most]. Strides are positive and descend.
Wide count_within(Levels levels, Wide least, Wide most) {
  const Wide span = span_of(levels);
  if (least > most || most < 0 || least > span) return 0;
  if (least <= 0 && most >= span) return total_of(levels);
  const Level& outer = levels.front();
  const Levels inner = levels.subspan(1);
  if (inner.size() == 1 && outer.other == 1 && inner[0].other == 1) {
    return count_up_to(outer, inner[0], most) - count_up_to(outer, inner[0], least - 1);
  }
  const Wide width = span_of(inner), end = outer.indices();
  const Wide first = clamped(ceiling_of(least - width, outer.stride), 0, end);
  const Wide last = clamped(floor_of(most, outer.stride), -1, end - 1);
  // Of these iterations all lies within.
  const Wide first_whole = clamped(ceiling_of(least, outer.stride), first, last + 1);
  const Wide last_whole = clamped(floor_of(most - width, outer.stride), first_whole - 1, last);
  Wide count = 0;
  if (last_whole >= first_whole) count = outer.ways(first_whole, last_whole) * total_of(inner);
  if (inner.empty()) return count;
  for (Wide index = first; index <= last; ++index) {
    if (index == first_whole && last_whole >= first_whole) {
      index = last_whole;
      continue;
    }
    const Wide at = index * outer.stride;
    count += outer.ways(index, index) * count_within(inner, least - at, most - at);
  }
  return count;
}

// The differences a - b as sums of levels from `first` on.
struct Differences {
  std::vector<Level> levels;
  Wide first = 0, times = 1;

  Differences(const AccessRun& a, const AccessRun& b) : first(Wide{a.start} - b.start) {
    for (const RunLevel& level : a.levels) add(level.stride, level.count);
    for (const RunLevel& level : b.levels) add(-Wide{level.stride}, level.count);
    std::stable_sort(levels.begin(), levels.end(),
                     [](const Level& x, const Level& y) { return x.stride > y.stride; });
    join();
  }

  Wide count(Wide least, Wide most) const {
    if (levels.empty()) return least <= first && first <= most ? times : 0;
    return times * count_within(levels, least - first, most - first);
  }

 private:
  void add(Wide stride, Wide count) {
    if (stride == 0) {
      times *= count;
      return;
    }
    if (stride < 0) first += (count - 1) * stride;
    levels.push_back({stride < 0 ? -stride : stride, count});
  }

  void join() {
    std::vector<Level> joined;
    for (const Level& level : levels) {
      if (!joined.empty() && joined.back().stride == level.stride && joined.back().other == 1) {
        joined.back().other = level.count;
      } else {
        joined.push_back(level);
      }
    }
    levels = std::move(joined);
  }
};

// a - b of accesses that share a byte.
Wide least_difference(const AccessRun& a) {
  return 1 - Wide{a.length};
}
Wide most_difference(const AccessRun& b) {
  return Wide{b.length} - 1;
}

Wide count_wide(const AccessRun& a, const AccessRun& b) {
  return Differences(a, b).count(least_difference(a), most_difference(b));
}

// Makes of the run's outermost loop its iterations [first, first + count).
AccessRun iterations(const AccessRun& run, std::int64_t first, std::int64_t count) {
  AccessRun part = run;
  RunLevel& outer = part.levels.front();
  part.start += outer.stride * first;
  part.segment += static_cast<std::uint64_t>(outer.segment_step * first);
  outer.count = count;
  if (count == 1) part.levels.erase(part.levels.begin());
  return part;
}

// Halves the outermost loop until one access of `run` is left that overlaps one of `other`.
void reduce(AccessRun& run, const AccessRun& other) {
  while (!run.levels.empty()) {
    const std::int64_t half = run.levels.front().count / 2;
    AccessRun front = iterations(run, 0, half);
    run = count_wide(front, other) > 0 ? std::move(front)
                                       : iterations(run, half, run.levels.front().count - half);
  }
}

}  // namespace

RunBounds bounds_of(const AccessRun& run) {
  RunBounds bounds{run.start, run.start + run.length};
  for (const RunLevel& level : run.levels) {
    const std::int64_t reach = level.stride * (level.count - 1);
    (reach < 0 ? bounds.first : bounds.end) += reach;
  }
  return bounds;
}

std::uint64_t accesses_of(const AccessRun& run) {
  std::uint64_t count = 1;
  for (const RunLevel& level : run.levels) count *= static_cast<std::uint64_t>(level.count);
  return count;
}

std::uint64_t last_segment_of(const AccessRun& run) {
  std::uint64_t last = run.segment;
  for (const RunLevel& level : run.levels) {
    last += static_cast<std::uint64_t>(level.segment_step * (level.count - 1));
  }
  return last;
}

std::uint64_t count_overlaps(const AccessRun& a, const AccessRun& b) {
  const Wide count = count_wide(a, b);
  return count >= Wide{UINT64_MAX} ? UINT64_MAX : static_cast<std::uint64_t>(count);
}

std::optional<std::pair<AccessRun, AccessRun>> one_overlap(const AccessRun& a, const AccessRun& b) {
  if (count_wide(a, b) == 0) return std::nullopt;
  std::pair<AccessRun, AccessRun> found{a, b};
  reduce(found.first, b);
  reduce(found.second, found.first);
  return found;
}

void clip_segments(const AccessRun& run, std::uint64_t from, std::uint64_t until,
                   std::vector<AccessRun>& to) {
  const std::uint64_t last = last_segment_of(run);
  if (until <= run.segment || last < from) return;
  if (from <= run.segment && last < until) {
    to.push_back(run);
    return;
  }
  const RunLevel outer = run.levels.front();  // there is one, as it has more than one segment
  if (outer.segment_step == 0) {
    AccessRun inner = iterations(run, 0, 1);
    const std::size_t before = to.size();
    clip_segments(inner, from, until, to);
    for (std::size_t i = before; i < to.size(); ++i) {
      to[i].levels.insert(to[i].levels.begin(), outer);
    }
    return;
  }
  const Wide step = outer.segment_step, width = Wide{last} - run.segment - step * (outer.count - 1);
  const Wide below = Wide{from} - run.segment, above = Wide{until} - 1 - run.segment;
  const Wide first = clamped(ceiling_of(below - width, step), 0, outer.count);
  const Wide end = clamped(floor_of(above, step) + 1, 0, outer.count);
  const Wide first_whole = clamped(ceiling_of(below, step), first, end);
  const Wide end_whole = clamped(floor_of(above - width, step) + 1, first_whole, end);
  const auto one_by_one = [&](Wide begin, Wide stop) {
    for (Wide i = begin; i < stop; ++i) {
      clip_segments(iterations(run, static_cast<std::int64_t>(i), 1), from, until, to);
    }
  };
  one_by_one(first, first_whole);
  if (end_whole > first_whole) {
    to.push_back(iterations(run, static_cast<std::int64_t>(first_whole),
                            static_cast<std::int64_t>(end_whole - first_whole)));
  }
  one_by_one(end_whole, end);
}

}  // namespace iotune::analyzer
