#include "logstore/read/log_map.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analyzer/index/index_builder.h"
#include "logstore/format.h"
#include "logstore/read/block_nests.h"
#include "logstore/read/writer_entries.h"

namespace iotune::logstore {
namespace {

using analyzer::IndexParts;
using analyzer::Nest;
using analyzer::Segment;
using analyzer::StreamTimes;
using analyzer::TimeKnot;
using analyzer::WriteOrder;

class Merge {
 public:
  // Gives the knots of a writer anew: they are most of what indexes have, and are not kept while
  // nobody knows whether they are needed.
  using Knots = std::function<std::vector<TimeKnot>(std::uint32_t writer)>;

  Merge(std::size_t most, Knots knots) : most_(most), knots_(std::move(knots)), builder_({most}) {}

  std::size_t room() const { return most_ - std::min(most_, used_); }

  // Before all others. `reports` gets one for each of its writers.
  std::optional<Error> add(const CoveredBytes& covered, std::vector<WriterReport>& reports) {
    const MergedIndex& merged = covered.merged;
    IndexParts parts = merged.parts;
    base_ = static_cast<std::uint32_t>(parts.ends.size());
    std::map<std::uint32_t, std::vector<TimeKnot>> knots;
    for (std::uint32_t writer = 0; writer < base_; ++writer) {
      knots[writer] = {{0, kMergedBegin}};
      if (const auto given = parts.knots.find(writer); given != parts.knots.end()) {
        knots[writer] = std::move(given->second);
        for (TimeKnot& knot : knots[writer]) knot.time += kMergedBegin;
      }
      used_ += knots[writer].size();
      reports.push_back(report_of(covered, writer));
    }
    used_ += parts.nests.size() + parts.segments.size();
    parts.knots = std::move(knots);
    covered_size_ = merged.size;
    if (!parts.nests.empty() || !parts.segments.empty()) first_write_ = {INT64_MIN, 0, 0};
    if (auto wrong = builder_.add(parts)) return wrong;
    if (used_ > most_) return Error{kMergedName, "has more entries than the limit allows"};
    return std::nullopt;
  }

  void add(WriterEntries&& entries) {
    used_ += entries.count();
    const auto writer = static_cast<std::uint32_t>(writers_.size());
    const StreamTimes times = times_of(std::exchange(entries.knots, {}));
    std::int64_t first = INT64_MAX;
    for (const Nest& nest : entries.nests) first = std::min(first, nest.position);
    first_write_ =
        std::min(first_write_, first == INT64_MAX ? WriteOrder{INT64_MAX, writer, first}
                                                  : WriteOrder{times.at(0, first), writer, first});
    const std::int64_t last = std::max<std::int64_t>(entries.position - 1, 0);
    writers_.push_back({std::move(entries), times.at(0, 0), times.at(0, last), {}});
    for (const HoleEntry& hole : writers_[writer].holes) {
      const WriteOrder order{times.at(0, hole.position), writer, hole.position};
      writers_[writer].hole_times.push_back(order.time);
      if (hole.truncates && (!any_truncation_ || last_truncation_ < order)) {
        any_truncation_ = true;
        last_truncation_ = order;
        truncated_to_ = hole.start;
      }
    }
  }

  // The end of the last write that is later than the last truncation, or that truncation's size.
  std::int64_t size() const {
    std::int64_t size = any_truncation_ ? truncated_to_ : covered_size_;
    for (std::uint32_t writer = 0; writer < writers_.size(); ++writer) {
      const std::int64_t from = any_truncation_ ? first_after(writer, last_truncation_) : 0;
      for (const Nest& nest : writers_[writer].nests) {
        size = std::max(size, end_from_position(nest, from));
      }
    }
    return size;
  }

  Result<analyzer::OffsetIndex> build(const std::vector<WriterReport>& reports) {
    for (std::uint32_t writer = 0; writer < writers_.size(); ++writer) {
      IndexParts parts;
      if (!parts_of(writer, parts)) return Error{"", "more entries than the limit allows"};
      parts.names = analyzer::StreamNames({reports[base_ + writer].name});
      if (auto wrong = builder_.add(parts, base_ + writer)) return *wrong;
      writers_[writer] = {};
    }
    auto index = builder_.build();
    if (index && index->times_decide()) {
      index = analyzer::OffsetIndex();
      for (std::uint32_t writer = 0; writer < writers_.size(); ++writer) {
        if (auto wrong = builder_.set_times(base_ + writer, knots_(writer))) return *wrong;
      }
      index = builder_.build();
    }
    // Where nothing overlaps, times decide nothing.
    if (index) index->seal();
    return index;
  }

 private:
  static WriterReport report_of(const CoveredBytes& covered, std::uint32_t writer) {
    const MergedIndex& merged = covered.merged;
    WriterReport report;
    report.name = merged.parts.names[writer];
    report.has_index = true;
    report.is_covered = true;
    report.entries = merged.parts.ends[writer].position;
    report.log_bytes = std::clamp<std::int64_t>(covered.log_bytes[writer], 0, kLargestFile);
    const std::int64_t log = merged.covered[writer].log_bytes;
    report.durable_bytes = merged.is_synced ? log : 0;
    const std::int64_t described = std::min(merged.parts.ends[writer].physical, log);
    report.unplaced_bytes = std::max<std::int64_t>(0, report.log_bytes - described);
    report.missing_bytes = std::max<std::int64_t>(0, described - report.log_bytes);
    return report;
  }

  // Writers that are not covered are numbered from 0 here, and from base_ in the map.
  struct Writer : WriterEntries {
    std::int64_t begin = 0;  // time of position 0
    std::int64_t end = 0;    // time of the last position
    std::vector<std::int64_t> hole_times;
  };

  static StreamTimes times_of(std::vector<TimeKnot>&& knots) {
    std::map<std::uint32_t, std::vector<TimeKnot>> of_one;
    of_one[0] = std::move(knots);
    return StreamTimes(of_one);
  }

  // The writer's first position whose entry would be later than `order`.
  std::int64_t first_after(std::uint32_t writer, const WriteOrder& order) const {
    std::int64_t low = 0;
    std::int64_t high = writers_[writer].position;
    // Most writers begin behind the truncation that made the file anew.
    if (high == 0 || order < WriteOrder{writers_[writer].begin, writer, 0}) return 0;
    if (!(order < WriteOrder{writers_[writer].end, writer, high - 1})) return high;
    const StreamTimes times = times_of(knots_(writer));
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (order < WriteOrder{times.at(0, middle), writer, middle}) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // A hole that is earlier than all writes hides none of them: a file that is made anew is so
  // truncated, and should need no times for it.
  bool hides_nothing(const WriteOrder& hole) const { return hole < first_write_; }

  bool parts_of(std::uint32_t writer, IndexParts& parts) {
    Writer& entries = writers_[writer];
    parts.slots = {0};
    parts.ends = {{entries.position, entries.physical}};
    std::vector<Nest> normal;
    for (Nest& nest : entries.nests) {
      if (!analyzer::normalise(std::move(nest), room(), normal)) return false;
    }
    used_ += normal.size();
    for (Nest& nest : normal) {
      if (nest.levels.empty()) {
        parts.segments.push_back({nest.start, nest.length, nest.position, nest.physical, 0});
      } else {
        parts.nests.push_back(std::move(nest));
      }
    }
    for (std::size_t i = 0; i < entries.holes.size(); ++i) {
      const HoleEntry& hole = entries.holes[i];
      const WriteOrder order{entries.hole_times[i], writer, hole.position};
      if (hole.start == hole.end || hides_nothing(order)) continue;
      parts.segments.push_back(
          {hole.start, hole.end - hole.start, hole.position, kLargestFile + hole.start, 0});
    }
    return used_ <= 2 * most_;
  }

  std::size_t most_;
  Knots knots_;
  std::size_t used_ = 0;
  std::uint32_t base_ = 0;         // writers that are covered
  std::int64_t covered_size_ = 0;  // of the file, without the others
  std::vector<Writer> writers_;
  WriteOrder first_write_{INT64_MAX, UINT32_MAX, INT64_MAX};
  WriteOrder last_truncation_{};
  std::int64_t truncated_to_ = 0;
  bool any_truncation_ = false;
  analyzer::IndexBuilder builder_;
};

}  // namespace

bool LogMap::is_hole(const analyzer::IndexPiece& piece) noexcept {
  return piece.is_hole() || piece.physical >= kLargestFile;
}

Result<LogMap> LogMap::merge(std::uint64_t container_id, std::vector<WriterBytes> writers,
                             std::vector<WriterReport>& reports, const ReadLimits& limits,
                             const CoveredBytes* covered) {
  reports.clear();
  if (writers.size() > limits.writers) return Error{"", "more writers than the limit allows"};
  std::ranges::sort(writers, {}, &WriterBytes::name);
  const auto knots_of = [&](std::uint32_t writer) {
    WriterEntries again;
    WriterReport known;
    // What it described before, it does again.
    if (read_writer(container_id, writers[writer], limits.entries, limits, again, known)) {
      again.knots.clear();
    }
    return std::move(again.knots);
  };
  Merge merge(limits.entries, knots_of);
  if (covered != nullptr) {
    if (auto wrong = merge.add(*covered, reports)) return *wrong;
  }
  std::vector<std::int64_t> log_bytes;
  for (const WriterReport& report : reports) log_bytes.push_back(report.log_bytes);
  for (const WriterBytes& writer : writers) {
    WriterReport report;
    report.name = writer.name;
    report.log_bytes = std::clamp<std::int64_t>(writer.log_bytes, 0, kLargestFile);
    WriterEntries entries;
    if (auto wrong = read_writer(container_id, writer, merge.room(), limits, entries, report)) {
      return *wrong;
    }
    log_bytes.push_back(report.log_bytes);
    reports.push_back(std::move(report));
    merge.add(std::move(entries));
  }
  LogMap map;
  map.size_ = merge.size();
  auto index = merge.build(reports);
  if (!index) return index.error();
  map.index_ = std::move(*index);
  map.log_bytes_ = analyzer::PackedArray(log_bytes);
  return map;
}

std::vector<LogPiece> LogMap::pieces(std::int64_t offset, std::int64_t length) const {
  std::vector<LogPiece> all;
  for_each_piece(offset, length, [&](const LogPiece& piece) { all.push_back(piece); });
  return all;
}

LogPiece LogMap::at(std::int64_t offset) const {
  LogPiece first{offset, 0, LogPiece::Kind::kHole};
  analyzer::IndexPiece piece = index_.at(offset);
  piece.length = std::min(piece.length, size_ - offset);
  const auto take = [&](const LogPiece& part) {
    if (first.length == 0) first = part;
  };
  split(piece, take);
  return first;
}

}  // namespace iotune::logstore
