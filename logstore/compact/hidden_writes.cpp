#include "logstore/compact/hidden_writes.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "logstore/format.h"

namespace iotune::logstore {
namespace {

using analyzer::IndexParts;
using analyzer::Nest;
using analyzer::NestLevel;
using analyzer::Segment;
using analyzer::StreamTimes;

// Of the largest solid ranges; each is compared with all nests.
constexpr std::size_t kMostSolids = 64;
constexpr int kMostRounds = 8;

bool is_hole(const Segment& segment) {
  return segment.physical >= kLargestFile;
}

std::int64_t least_position(const Nest& nest) {
  std::int64_t least = nest.position;
  for (const NestLevel& level : nest.levels) {
    least += std::min<std::int64_t>(0, level.position_step * (level.count - 1));
  }
  return least;
}

// All bytes from the first to the last are written.
bool is_solid(const Nest& nest) {
  std::int64_t reach = nest.length;
  for (std::size_t k = nest.levels.size(); k-- > 0;) {
    if (nest.levels[k].stride != reach) return false;
    reach *= nest.levels[k].count;
  }
  return true;
}

// When something was written, at the earliest and at the latest.
struct Range {
  std::int64_t start, end;  // bytes of the file
  std::int64_t earliest, latest;
};

class Hidden {
 public:
  explicit Hidden(IndexParts& parts) : parts_(parts), times_(parts.knots) {
    for (const Nest& nest : parts_.nests) ranges_.push_back(range_of(nest));
    dead_.resize(parts_.nests.size());
  }

  bool drop() {
    drop_rewritten_loops();
    drop_covered();
    const bool dropped = erase_dead();
    return drop_idle_holes() || dropped;
  }

 private:
  std::int64_t time_of(std::int64_t slot, std::int64_t position) const {
    return times_.at(parts_.slots[static_cast<std::size_t>(slot)], position);
  }
  Range range_of(const Nest& nest) const {
    Range range{nest.start, nest.end(), INT64_MAX, INT64_MIN};
    const std::int64_t first = least_position(nest);
    const std::int64_t last = nest.last_position();
    for (std::int64_t slot = nest.slot; slot < nest.slot + nest.slot_span(); ++slot) {
      range.earliest = std::min(range.earliest, time_of(slot, first));
      range.latest = std::max(range.latest, time_of(slot, last));
    }
    return range;
  }
  Range range_of(const Segment& s) const {
    const std::int64_t time = times_.at(s.stream, s.position);
    return {s.start, s.end(), time, time};
  }

  // Of two loops over the same places: is every access of `b` later than that of `a` there?
  bool is_rewritten(std::size_t a, std::size_t b) const {
    if (ranges_[a].latest < ranges_[b].earliest) return true;
    const Nest& first = parts_.nests[a];
    const Nest& second = parts_.nests[b];
    const std::int64_t span = first.slot_span();
    if (span != second.slot_span()) return false;
    bool same_steps = true;
    for (std::size_t k = 0; k < first.levels.size(); ++k) {
      if (first.levels[k].slot_step != second.levels[k].slot_step) return false;
      same_steps = same_steps && first.levels[k].position_step == second.levels[k].position_step;
    }
    for (std::int64_t i = 0; i < span; ++i) {
      if (parts_.slots[static_cast<std::size_t>(first.slot + i)] !=
          parts_.slots[static_cast<std::size_t>(second.slot + i)]) {
        return false;
      }
    }
    return same_steps ? first.position < second.position
                      : first.last_position() < least_position(second);
  }

  void drop_rewritten_loops() {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> shapes;
    for (std::size_t i = 0; i < parts_.nests.size(); ++i) {
      const Nest& nest = parts_.nests[i];
      std::vector<std::int64_t> shape{nest.start, nest.length};
      for (const NestLevel& level : nest.levels) {
        shape.insert(shape.end(), {level.stride, level.count});
      }
      shapes[shape].push_back(i);
    }
    for (auto& [shape, nests] : shapes) {
      std::ranges::sort(nests, {}, [&](std::size_t i) {
        return std::pair(ranges_[i].latest, parts_.nests[i].position);
      });
      // Each against those that come later, until one hides it.
      for (std::size_t i = 0; i < nests.size(); ++i) {
        const std::size_t last = std::min(nests.size(), i + 1 + kMostSolids);
        for (std::size_t k = last; k-- > i + 1 && !dead_[nests[i]];) {
          dead_[nests[i]] = is_rewritten(nests[i], nests[k]);
        }
      }
    }
  }

  void drop_covered() {
    std::vector<Range> solids;
    for (std::size_t i = 0; i < parts_.nests.size(); ++i) {
      if (!dead_[i] && is_solid(parts_.nests[i])) solids.push_back(ranges_[i]);
    }
    for (const Segment& segment : parts_.segments) solids.push_back(range_of(segment));
    std::ranges::sort(solids, std::ranges::greater{},
                      [](const Range& solid) { return solid.end - solid.start; });
    solids.resize(std::min(solids.size(), kMostSolids));
    const auto hidden = [&](const Range& range) {
      return std::ranges::any_of(solids, [&](const Range& solid) {
        return solid.start <= range.start && range.end <= solid.end &&
               range.latest < solid.earliest;
      });
    };
    for (std::size_t i = 0; i < dead_.size(); ++i) dead_[i] = dead_[i] || hidden(ranges_[i]);
    const std::size_t before = parts_.segments.size();
    std::erase_if(parts_.segments, [&](const Segment& s) { return hidden(range_of(s)); });
    dropped_ = parts_.segments.size() != before;
  }

  bool erase_dead() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < dead_.size(); ++i) {
      if (dead_[i]) continue;
      if (kept != i) {
        parts_.nests[kept] = std::move(parts_.nests[i]);
        ranges_[kept] = ranges_[i];
      }
      ++kept;
    }
    dropped_ = dropped_ || kept != parts_.nests.size();
    parts_.nests.resize(kept);
    ranges_.resize(kept);
    return dropped_;
  }

  // A hole shows only where something earlier would.
  bool drop_idle_holes() {
    const std::size_t before = parts_.segments.size();
    const bool compare = ranges_.size() * before <= std::size_t{1} << 24U;
    std::erase_if(parts_.segments, [&](const Segment& s) {
      if (!is_hole(s)) return false;
      const Range hole = range_of(s);
      return ranges_.empty() || (compare && std::ranges::none_of(ranges_, [&](const Range& range) {
               return range.start < hole.end && hole.start < range.end &&
                      range.earliest <= hole.latest;
             }));
    });
    return parts_.segments.size() != before;
  }

  IndexParts& parts_;
  StreamTimes times_;
  std::vector<Range> ranges_;  // of the nests
  std::vector<bool> dead_;
  bool dropped_ = false;
};

}  // namespace

bool drop_hidden(analyzer::IndexParts& parts) {
  return Hidden(parts).drop();
}

recorder::Result<analyzer::OffsetIndex> without_hidden(analyzer::IndexParts parts) {
  const auto index_of = [](const analyzer::IndexParts& content) {
    analyzer::IndexBuilder builder;
    auto wrong = builder.add(content);
    return wrong ? recorder::Result<analyzer::OffsetIndex>(*wrong) : builder.build();
  };
  // Loops that are left may fold into larger ones.
  for (int round = 0; round < kMostRounds && drop_hidden(parts); ++round) {
    const auto index = index_of(parts);
    if (!index) return index.error();
    parts = index->parts();
  }
  auto index = index_of(parts);
  if (!index || !index->seal()) return index;
  // Nothing overlaps: no hole hides anything.
  parts = index->parts();
  if (std::erase_if(parts.segments, is_hole) == 0) return index;
  index = index_of(parts);
  if (index) index->seal();
  return index;
}

}  // namespace iotune::logstore
