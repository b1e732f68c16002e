#include "logstore/compact/merge_container.h"

#include <algorithm>
#include <numeric>

#include "logstore/compact/hidden_writes.h"
#include "logstore/format.h"

namespace iotune::logstore {
namespace {

using analyzer::IndexParts;
using analyzer::Nest;
using analyzer::NestLevel;
using analyzer::Segment;
using analyzer::TimeKnot;

bool was_merged(const TimeKnot& knot) {
  return knot.time < kMergedBegin + kMergedTimes;
}

// Times from 0 on: first those of the merged index before, then all others. False where they need
// more than kMergedTimes.
bool count_times_from_zero(IndexParts& parts) {
  std::int64_t merged_end = 0;
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const auto& [stream, knots] : parts.knots) {
    for (const TimeKnot& knot : knots) {
      if (was_merged(knot)) {
        merged_end = std::max(merged_end, knot.time - kMergedBegin + 1);
      } else {
        first = std::min(first, knot.time);
        last = std::max(last, knot.time);
      }
    }
  }
  // Half of the room: what a compaction writes anew is later still.
  const auto room =
      static_cast<std::uint64_t>(kMergedTimes / 2 - std::min(merged_end, kMergedTimes / 2));
  if (last >= first &&
      static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) >= room) {
    return false;
  }
  for (auto& [stream, knots] : parts.knots) {
    for (TimeKnot& knot : knots) {
      knot.time = was_merged(knot) ? knot.time - kMergedBegin : knot.time - first + merged_end;
    }
  }
  return true;
}

// Calls use(slot, nest) for what of the nest each slot has: a nest, or where no loop is left one
// access.
template <class Use>
void for_each_slot(const Nest& nest, Use&& use) {
  const auto split = std::ranges::find_if(
      nest.levels, [](const NestLevel& level) { return level.slot_step != 0; });
  if (split == nest.levels.end()) {
    use(nest);
    return;
  }
  Nest inner = nest;
  inner.levels.erase(inner.levels.begin() + (split - nest.levels.begin()));
  for (std::int64_t i = 0; i < split->count; ++i) {
    for_each_slot(inner, use);
    inner.start += split->stride;
    inner.position += split->position_step;
    inner.physical += split->physical_step;
    inner.slot += split->slot_step;
  }
}

// Exact, where the index itself takes loops that lie between each other for loops that may meet:
// then as many bytes were written as the file has. Goes over all pieces of the file.
bool nothing_overlaps(const IndexParts& parts, const LogMap& map) {
  const auto is_hole = [](const Segment& one) { return one.physical >= kLargestFile; };
  if (std::ranges::any_of(parts.segments, is_hole)) return false;
  const auto sum = [](const std::vector<std::int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  };
  return sum(most_live_bytes(parts)) == sum(live_bytes(map));
}

}  // namespace

Result<MergedIndex> merge_container(const Container& container) {
  const LogMap& map = container.map();
  MergedIndex merged;
  merged.container_id = container.description().container_id;
  merged.generation = container.compaction().generation + 1;
  merged.size = map.size();
  IndexParts parts = map.index().parts();
  if (!count_times_from_zero(parts)) {
    return Error{container.path(), "has writers whose clocks are many years apart"};
  }
  auto index = without_hidden(std::move(parts));
  if (!index) return index.error();
  merged.parts = index->parts();
  // Times say which of two writes to a byte is the later one, and are most of the bytes.
  if (!merged.parts.knots.empty() && nothing_overlaps(merged.parts, map)) {
    merged.parts.knots.clear();
  }
  const auto& single = container.compaction().single_indexes;
  for (std::size_t i = 0; i < container.reports().size(); ++i) {
    const WriterReport& report = container.reports()[i];
    std::int64_t index_bytes = 0;
    if (report.is_covered) index_bytes = container.compaction().covered[i].index_bytes;
    if (const auto own = single.find(report.name); own != single.end()) index_bytes = own->second;
    merged.covered.push_back({index_bytes, report.log_bytes});
  }
  return merged;
}

std::vector<Segment> holes_of_others(const std::vector<bool>& keeps, const MergedIndex& merged,
                                     const LogMap& map) {
  std::vector<Segment> holes;
  if (std::ranges::find(keeps, true) == keeps.end()) return holes;
  const auto take = [&](std::int64_t start, std::int64_t end) {
    const std::int64_t position = std::ssize(holes);
    if (start < end) holes.push_back({start, end - start, position, kLargestFile + start, 0});
  };
  for (const Segment& segment : merged.parts.segments) {
    if (keeps[segment.stream] || segment.physical < kLargestFile) continue;
    map.for_each_piece(segment.start, segment.length, [&](const LogPiece& piece) {
      if (piece.kind == LogPiece::Kind::kHole) take(piece.offset, piece.end());
    });
    take(std::max(segment.start, map.size()), segment.end());
  }
  return holes;
}

std::vector<std::int64_t> most_live_bytes(const IndexParts& parts) {
  std::vector<std::int64_t> live(parts.ends.size());
  for (const Nest& nest : parts.nests) {
    for_each_slot(nest, [&](const Nest& one) {
      std::int64_t bytes = one.length;
      for (const NestLevel& level : one.levels) bytes *= level.count;
      live[parts.slots[static_cast<std::size_t>(one.slot)]] += bytes;
    });
  }
  for (const Segment& segment : parts.segments) {
    if (segment.physical < kLargestFile) live[segment.stream] += segment.length;
  }
  return live;
}

std::vector<std::int64_t> live_bytes(const LogMap& map) {
  std::vector<std::int64_t> live(map.writers());
  map.for_each_piece(0, map.size(), [&](const LogPiece& piece) {
    if (piece.kind == LogPiece::Kind::kData) live[piece.writer] += piece.length;
  });
  return live;
}

void keep_writers(const std::vector<bool>& keeps, MergedIndex& merged) {
  IndexParts& parts = merged.parts;
  std::vector<std::uint32_t> number(keeps.size());
  std::vector<std::string> names;
  std::vector<CoveredWriter> covered;
  std::vector<analyzer::StreamEnd> ends;
  std::map<std::uint32_t, std::vector<TimeKnot>> knots;
  for (std::uint32_t i = 0; i < keeps.size(); ++i) {
    if (!keeps[i]) {
      merged.retired.push_back(parts.names[i]);
      continue;
    }
    number[i] = static_cast<std::uint32_t>(names.size());
    if (const auto own = parts.knots.find(i); own != parts.knots.end()) {
      knots[number[i]] = std::move(own->second);
    }
    names.push_back(parts.names[i]);
    covered.push_back(merged.covered[i]);
    ends.push_back(parts.ends[i]);
  }
  std::vector<Nest> nests;
  std::vector<std::uint32_t> slots(names.size());
  for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
  std::vector<Segment> segments;
  for (const Segment& segment : parts.segments) {
    if (!keeps[segment.stream]) continue;
    segments.push_back(segment);
    segments.back().stream = number[segment.stream];
  }
  for (const Nest& nest : parts.nests) {
    for_each_slot(nest, [&](const Nest& one) {
      const std::uint32_t writer = parts.slots[static_cast<std::size_t>(one.slot)];
      if (!keeps[writer]) return;
      if (one.levels.empty()) {
        segments.push_back({one.start, one.length, one.position, one.physical, number[writer]});
      } else {
        nests.push_back(one);
        nests.back().slot = number[writer];
      }
    });
  }
  parts.nests = std::move(nests);
  parts.slots = std::move(slots);
  parts.segments = std::move(segments);
  parts.knots = std::move(knots);
  parts.ends = std::move(ends);
  parts.names = analyzer::StreamNames(names);
  merged.covered = std::move(covered);
}

}  // namespace iotune::logstore
