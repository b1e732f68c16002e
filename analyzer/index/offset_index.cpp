#include "analyzer/index/offset_index.h"

#include <algorithm>

namespace iotune::analyzer {

std::size_t OffsetIndex::first_segment_from(std::int64_t offset) const noexcept {
  const std::int64_t* first = segment_starts_.data();
  std::size_t left = segment_starts_.size();
  while (left > 0) {
    const std::size_t half = left / 2;
    const bool upper = first[half] < offset;
    first += upper ? half + 1 : 0;
    left = upper ? left - half - 1 : half;
  }
  return static_cast<std::size_t>(first - segment_starts_.data());
}

// The latest access to that byte.
OffsetIndex::Found OffsetIndex::find(std::int64_t offset) const {
  Found best{};
  bool order_known = false;
  const auto take = [&](const Found& other) {
    if (!best.any) {
      best = other;
      return;
    }
    // Times are looked up only where there are two.
    if (!order_known) best.order.time = times_.at(best.order.stream, best.order.position);
    order_known = true;
    Found timed = other;
    timed.order.time = times_.at(other.order.stream, other.order.position);
    if (best.order < timed.order) best = timed;
  };
  finder_.find(offset, [&](const NestHit& hit) {
    const auto stream = static_cast<std::uint32_t>(slots_[static_cast<std::size_t>(hit.slot)]);
    take({{0, stream, hit.position},
          hit.start,
          hit.start + hit.length,
          hit.physical,
          finder_.contested(hit.nest),
          true});
  });
  const std::size_t above = offset == INT64_MAX ? segments_.size() : first_segment_from(offset + 1);
  if (above != 0 && segments_[above - 1].end() > offset) {
    const Segment& s = segments_[above - 1];
    take({{0, s.stream, s.position}, s.start, s.end(), s.physical, s.contested, true});
  }
  if (best.any && best.contested && !order_known) {
    best.order.time = times_.at(best.order.stream, best.order.position);
  }
  return best;
}

// Where a later access begins within this one, behind `offset`; or its end.
std::int64_t OffsetIndex::end_of_piece(const Found& found, std::int64_t offset) const {
  if (!found.contested) return found.end;
  std::size_t segment = first_segment_from(offset + 1);
  for (std::int64_t from = offset + 1; from < found.end;) {
    std::int64_t next = finder_.next_start(from, found.order.time, found.end);
    while (segment < segments_.size() && segment_starts_[segment] < from) ++segment;
    if (segment < segments_.size()) next = std::min(next, segment_starts_[segment]);
    if (next >= found.end) break;
    const Found there = find(next);
    if (there.order.stream != found.order.stream || there.order.position != found.order.position) {
      return next;
    }
    from = next + 1;
  }
  return found.end;
}

IndexPiece OffsetIndex::at(std::int64_t offset) const {
  const Found found = find(offset);
  if (!found.any) {
    std::int64_t next = finder_.next_start(offset, INT64_MIN, kNoStart);
    const std::size_t segment = first_segment_from(offset);
    if (segment < segments_.size()) next = std::min(next, segment_starts_[segment]);
    return {offset, next - offset};
  }
  return {offset, end_of_piece(found, offset) - offset, found.order.stream, found.order.position,
          found.physical + (offset - found.start)};
}

std::vector<IndexPiece> OffsetIndex::pieces(std::int64_t offset, std::int64_t length) const {
  std::vector<IndexPiece> all;
  for_each_piece(offset, length, [&](const IndexPiece& piece) { all.push_back(piece); });
  return all;
}

StreamEnd OffsetIndex::stream_end(std::uint32_t stream) const {
  if (stream >= streams()) return {};
  return {end_positions_[stream], end_physicals_[stream]};
}

std::string OffsetIndex::stream_name(std::uint32_t stream) const {
  return stream < names_.size() ? names_[stream] : std::string();
}

bool OffsetIndex::seal() {
  if (contested_) return false;
  times_ = StreamTimes();
  return true;
}

std::size_t OffsetIndex::memory_bytes() const noexcept {
  return sizeof(*this) + finder_.memory_bytes() + slots_.memory_bytes() +
         segments_.capacity() * sizeof(Segment) +
         segment_starts_.capacity() * sizeof(std::int64_t) + times_.memory_bytes() +
         names_.memory_bytes() + end_positions_.memory_bytes() + end_physicals_.memory_bytes();
}

IndexParts OffsetIndex::parts() const {
  IndexParts parts;
  for (std::size_t i = 0; i < finder_.nests(); ++i) {
    parts.nests.push_back(finder_.nest(static_cast<std::uint32_t>(i)));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    parts.slots.push_back(static_cast<std::uint32_t>(slots_[i]));
  }
  parts.segments = segments_;
  parts.knots = times_.knots();
  for (std::size_t i = 0; i < streams(); ++i) {
    parts.ends.push_back(stream_end(static_cast<std::uint32_t>(i)));
  }
  parts.names = names_;
  return parts;
}

}  // namespace iotune::analyzer
