#include "analyzer/index/index_builder.h"

#include <algorithm>

#include "analyzer/index/nests_of_loops.h"
#include "patterns/tuple_loops.h"

namespace iotune::analyzer {
namespace {

// As many segments in arithmetic progression become a nest.
constexpr std::size_t kLeastRun = 4;
// Accesses below one segment that are looked at to see which nests it meets.
constexpr int kMostMeetings = 64;

Error problem(std::uint32_t stream, const std::string& what) {
  std::string text("stream ");
  text += std::to_string(stream);
  text += ": ";
  return {"", text += what};
}

std::vector<std::int64_t> latest_of(const std::vector<Nest>& nests, const SlotTable& slots,
                                    const StreamTimes& times) {
  std::vector<std::int64_t> latest;
  latest.reserve(nests.size());
  for (const Nest& nest : nests) {
    const std::int64_t last = nest.last_position();
    const std::int64_t end = nest.slot + nest.slot_span();
    std::int64_t time = INT64_MIN;
    for (std::int64_t slot = nest.slot; slot < end; ++slot) {
      time = std::max(time, times.at(slots[slot], last));
    }
    latest.push_back(time);
  }
  return latest;
}

// Modulo 2^64.
std::uint64_t bytes_of(const std::vector<Segment>& segments) {
  std::uint64_t bytes = 0;
  for (const Segment& one : segments) bytes += static_cast<std::uint64_t>(one.length);
  return bytes;
}

// Segments and nests that have bytes in common.
void mark_contested(std::vector<Segment>& segments, NestLookup& finder) {
  std::int64_t from = INT64_MAX;  // of what meets too many accesses to look at each
  std::int64_t until = INT64_MIN;
  for (Segment& segment : segments) {
    segment.contested = false;
    const auto meet = [&](const NestHit& hit) {
      segment.contested = true;
      finder.set_contested(hit.nest);
    };
    finder.find(segment.start, meet);
    int left = kMostMeetings;
    std::int64_t next = segment.start;
    while ((next = finder.next_start(next + 1, INT64_MIN, segment.end())) != kNoStart && left > 0) {
      finder.find(next, meet);
      --left;
    }
    if (left == 0) {
      from = std::min(from, segment.start);
      until = std::max(until, segment.end());
    }
  }
  for (std::uint32_t i = 0; i < finder.nests() && from < until; ++i) {
    const Nest nest = finder.nest(i);
    if (nest.start < until && nest.end() > from) finder.set_contested(i);
  }
}

}  // namespace

std::optional<Error> IndexBuilder::check_stream(std::uint32_t stream) const {
  if (stream < kMostStreams) return std::nullopt;
  return problem(stream, "a number past " + std::to_string(kMostStreams - 1));
}

std::optional<std::string> IndexBuilder::knots_of(const BatchTimes& times, std::int64_t clock,
                                                  const StreamEnd& before, std::int64_t rows,
                                                  std::vector<TimeKnot>& knots) {
  const std::int64_t last = before.position + rows - 1;
  if (!times.given_) {
    knots.push_back({before.position, clock});
    if (rows > 1) knots.push_back({last, clock});
  } else if (times.each_.data() != nullptr) {
    if (times.each_.size() != static_cast<std::size_t>(rows)) return "not a time for each access";
    for (std::int64_t i = 0; i < rows; ++i) {
      knots.push_back({before.position + i, times.each_[static_cast<std::size_t>(i)]});
    }
  } else {
    knots.push_back({before.position, times.first_});
    if (rows > 1) knots.push_back({last, times.last_});
    if (times.last_ < times.first_) return "a batch that ends before it begins";
  }
  return tidy_knots(knots);
}

std::optional<Error> IndexBuilder::add_tuples(std::uint32_t stream,
                                              std::span<const std::int64_t> values, unsigned dims,
                                              const BatchTimes& times) {
  if (auto wrong = check_stream(stream)) return wrong;
  const std::size_t n = values.size() / dims;
  if (n == 0) return std::nullopt;
  if (n > patterns::kMaxTuples) return problem(stream, "a batch too large");
  const auto known = streams_.find(stream);
  const StreamEnd before = known == streams_.end() ? StreamEnd{} : known->second.end;
  // Knots of this batch alone are tidied: what came before was, and its last one is compared.
  std::vector<TimeKnot> knots;
  auto wrong = knots_of(times, clock_ + 1, before, static_cast<std::int64_t>(n), knots);
  if (!wrong && known != streams_.end() && !known->second.knots.empty() &&
      knots.front().time < known->second.knots.back().time) {
    wrong = "a time before that of an earlier access";
  }
  if (wrong) return problem(stream, *wrong);
  StreamPlace at{0, before.position, before.physical};
  std::vector<Nest> raw;
  wrong = append_nests(values, dims, at, limits_.entries, raw);
  if (wrong) return problem(stream, *wrong);
  if (auto error = take_nests(std::move(raw), stream)) return error;
  clock_ = std::max(clock_, knots.back().time);
  Open& open = streams_[stream];
  open.end = {at.position, at.physical};
  open.knots.insert(open.knots.end(), knots.begin(), knots.end());
  return std::nullopt;
}

std::optional<Error> IndexBuilder::take_nests(std::vector<Nest>&& raw, std::uint32_t stream) {
  const std::size_t had = segments_.size();
  std::vector<Nest> normal;
  for (Nest& nest : raw) {
    const std::size_t used = nests_.size() + normal.size() + segments_.size();
    const std::size_t left = limits_.entries > used ? limits_.entries - used : 0;
    if (left == 0 || !normalise(std::move(nest), left, normal)) {
      segments_.resize(had);
      return problem(stream, "more entries than the index may have");
    }
    while (!normal.empty() && normal.back().levels.empty()) {
      const Nest& one = normal.back();
      segments_.push_back({one.start, one.length, one.position, one.physical, stream});
      normal.pop_back();
    }
  }
  for (Nest& nest : normal) {
    if (nest.levels.empty()) {
      segments_.push_back({nest.start, nest.length, nest.position, nest.physical, stream});
      continue;
    }
    nest.slot = slots_.slot_of(stream);
    nests_.push_back(std::move(nest));
  }
  return std::nullopt;
}

std::optional<Error> IndexBuilder::add(std::uint32_t stream,
                                       std::span<const patterns::Extent> accesses,
                                       const BatchTimes& times) {
  std::vector<std::int64_t> values;
  values.reserve(2 * accesses.size());
  for (const patterns::Extent& extent : accesses) {
    values.push_back(extent.offset);
    values.push_back(extent.length);
  }
  return add_tuples(stream, values, 2, times);
}

std::optional<Error> IndexBuilder::add(std::uint32_t stream,
                                       std::span<const patterns::Extent> accesses,
                                       std::span<const std::int64_t> physical,
                                       const BatchTimes& times) {
  if (physical.size() != accesses.size()) return problem(stream, "not a place for each access");
  std::vector<std::int64_t> values;
  values.reserve(3 * accesses.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    values.insert(values.end(), {accesses[i].offset, accesses[i].length, physical[i]});
  }
  return add_tuples(stream, values, 3, times);
}

std::optional<Error> IndexBuilder::add(const IndexParts& parts, std::uint32_t first_stream) {
  const auto bad = [](const char* what) { return Error{"", std::string("index: ") + what}; };
  const std::size_t streams = parts.ends.size();
  if (streams > kMostStreams || first_stream > kMostStreams - streams)
    return bad("too many streams");
  if (parts.nests.size() + parts.segments.size() + nests_.size() + segments_.size() >
      limits_.entries) {
    return bad("more entries than the index may have");
  }
  const auto slots = static_cast<std::int64_t>(parts.slots.size());
  for (const std::uint32_t stream : parts.slots) {
    if (stream >= streams) return bad("a slot without its stream");
  }
  for (const Nest& nest : parts.nests) {
    if (nest.levels.empty() || nest.levels.size() > kMaxNestLevels || !within_bounds(nest) ||
        !is_normal(nest) || nest.slot_span() > slots - nest.slot) {
      return bad("a nest that no index has");
    }
  }
  for (const Segment& s : parts.segments) {
    if (s.stream >= streams || !within_bounds({s.start, s.length, s.position, s.physical, 0, {}}) ||
        s.length == 0) {
      return bad("a segment that no index has");
    }
  }
  std::map<std::uint32_t, std::vector<TimeKnot>> joined;
  for (const auto& [stream, knots] : parts.knots) {
    if (stream >= streams) return bad("a time without its stream");
    for (const TimeKnot& knot : knots) {
      if (knot.position < 0 || knot.position > kMostBytes) return bad("a time of no access");
    }
    std::vector<TimeKnot>& all = joined[first_stream + stream];
    if (const auto known = streams_.find(first_stream + stream); known != streams_.end()) {
      all = known->second.knots;
    }
    all.insert(all.end(), knots.begin(), knots.end());
    if (const auto wrong = tidy_knots(all)) return problem(first_stream + stream, *wrong);
  }
  for (const StreamEnd& end : parts.ends) {
    if (end.position < 0 || end.position > kMostBytes || end.physical < 0 ||
        end.physical > kMostBytes) {
      return bad("a stream longer than any log");
    }
  }
  // From here on nothing fails.
  for (auto& [stream, knots] : joined) {
    for (const TimeKnot& knot : knots) clock_ = std::max(clock_, knot.time);
    streams_[stream].knots = std::move(knots);
  }
  for (std::size_t i = 0; i < streams; ++i) {
    Open& open = streams_[first_stream + static_cast<std::uint32_t>(i)];
    open.end.position = std::max(open.end.position, parts.ends[i].position);
    open.end.physical = std::max(open.end.physical, parts.ends[i].physical);
    if (i >= parts.names.size()) continue;
    std::string name = parts.names[i];
    if (!name.empty()) open.name = std::move(name);
  }
  for (Nest nest : parts.nests) {
    const auto from = parts.slots.begin() + nest.slot;
    std::vector<std::uint32_t> named(from, from + nest.slot_span());
    for (std::uint32_t& stream : named) stream += first_stream;
    nest.slot = named.size() == 1 ? slots_.slot_of(named[0]) : slots_.slots_of(named);
    nests_.push_back(std::move(nest));
  }
  for (Segment segment : parts.segments) {
    segment.stream += first_stream;
    segments_.push_back(segment);
  }
  return std::nullopt;
}

void IndexBuilder::set_name(std::uint32_t stream, std::string name) {
  if (stream < kMostStreams) streams_[stream].name = std::move(name);
}

void IndexBuilder::begin_at(std::uint32_t stream, StreamEnd end) {
  if (stream >= kMostStreams) return;
  StreamEnd& known = streams_[stream].end;
  known.position = std::clamp(end.position, known.position, kMostBytes);
  known.physical = std::clamp(end.physical, known.physical, kMostBytes);
}

std::optional<Error> IndexBuilder::set_times(std::uint32_t stream, std::vector<TimeKnot> knots) {
  if (auto wrong = check_stream(stream)) return wrong;
  if (const auto wrong = tidy_knots(knots)) return problem(stream, *wrong);
  for (const TimeKnot& knot : knots) {
    if (knot.position < 0 || knot.position > kMostBytes) {
      return problem(stream, "a time of no access");
    }
    clock_ = std::max(clock_, knot.time);
  }
  streams_[stream].knots = std::move(knots);
  return std::nullopt;
}

Result<OffsetIndex> IndexBuilder::build() const {
  OffsetIndex index;
  std::map<std::uint32_t, std::vector<TimeKnot>> knots;
  const std::size_t streams = streams_.empty() ? 0 : streams_.rbegin()->first + std::size_t{1};
  std::vector<std::string> names(streams);
  std::vector<std::int64_t> positions(streams);
  std::vector<std::int64_t> physicals(streams);
  for (const auto& [stream, open] : streams_) {
    std::vector<TimeKnot>& tidy = knots[stream] = open.knots;
    if (const auto wrong = tidy_knots(tidy)) return problem(stream, *wrong);
    names[stream] = open.name;
    positions[stream] = open.end.position;
    physicals[stream] = open.end.physical;
  }
  index.times_ = StreamTimes(knots);
  index.names_ = StreamNames(names);
  index.end_positions_ = PackedArray(positions);
  index.end_physicals_ = PackedArray(physicals);

  std::vector<Nest> nests = nests_;
  SlotTable slots = slots_;
  index.segments_ = segments_;
  resolve_overlaps(index.segments_, index.times_);
  // What is cut has fewer bytes.
  index.overlapped_ = bytes_of(index.segments_) != bytes_of(segments_);
  fold_segments(index.segments_, kLeastRun, slots, nests);
  fold_nests(nests, slots);
  slots.compact(nests);
  index.finder_ = NestLookup(nests, latest_of(nests, slots, index.times_));
  mark_contested(index.segments_, index.finder_);
  index.contested_ = index.finder_.any_contested();
  index.segments_.shrink_to_fit();
  index.segment_starts_.reserve(index.segments_.size());
  for (const Segment& segment : index.segments_) index.segment_starts_.push_back(segment.start);
  index.slots_ =
      PackedArray(std::vector<std::int64_t>(slots.streams().begin(), slots.streams().end()));
  if (!index.segments_.empty()) index.end_ = index.segments_.back().end();
  for (const Nest& nest : nests) index.end_ = std::max(index.end_, nest.end());
  return index;
}

}  // namespace iotune::analyzer
