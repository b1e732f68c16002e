#include "analyzer/summary/region_notes.h"

#include <algorithm>

#include "analyzer/calls/call_facts.h"
#include "analyzer/summary/alike_ranks.h"
#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

using recorder::Thing;

// Deeper than regions are recorded: a damaged trace may say that a region lies in itself.
constexpr std::size_t kDeepest = 64;

RegionPattern pattern_of(const RegionPath& path, const RegionRecord& record,
                         std::uint64_t run_start) {
  const auto after_start = [&](std::uint64_t ns) {
    return seconds_of(ns - std::min(run_start, ns));
  };
  RegionPattern pattern{};
  pattern.path = path;
  pattern.entered = record.entered;
  pattern.open = record.entered - std::min(record.ended, record.entered);
  pattern.processes = record.processes;
  pattern.seconds = seconds_of(record.ns);
  pattern.slowest_seconds = seconds_of(record.slowest_ns);
  pattern.io_seconds = seconds_of(record.io_ns);
  pattern.slowest_io_seconds = seconds_of(record.slowest_io_ns);
  pattern.least_seconds = record.least_ns == UINT64_MAX ? 0 : seconds_of(record.least_ns);
  pattern.largest_seconds = seconds_of(record.largest_ns);
  pattern.calls = record.calls;
  pattern.bytes_written = record.written;
  pattern.bytes_read = record.read;
  pattern.first_begin_seconds = after_start(record.first_ns);
  pattern.last_end_seconds = after_start(std::max(record.last_ns, record.first_ns));
  return pattern;
}

}  // namespace

RegionPath RegionNotes::path_of(std::uint32_t thread, std::int64_t region) const {
  RegionPath path;
  while (path.size() < kDeepest) {
    const auto found = names_.find({thread, region});
    if (found == names_.end()) break;
    path.push_back(found->second.text);
    region = found->second.parent;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

bool RegionNotes::follow(std::size_t index, const recorder::Call& call, bool alike) {
  const Thing note = facts_of(*call.signature()).note;
  if (note != Thing::kRegionBegin && note != Thing::kRegionEnd && note != Thing::kRegionSum) {
    return false;
  }
  take(call);
  if (alike) calls_.push_back(index);
  return true;
}

void RegionNotes::move_as_member(AlikeRanks& ranks, std::size_t k) {
  for (const std::size_t index : calls_) take(ranks.call_of(index, k));
}

void RegionNotes::take(const recorder::Call& call) {
  if (!read_arguments(call, arguments_)) return;
  const Thing note = facts_of(*call.signature()).note;
  const auto number = [&](const char* name) -> std::uint64_t {
    const recorder::ArgumentValue* const found = arguments_.find(name);
    return found == nullptr || found->numbers.empty()
               ? 0
               : static_cast<std::uint64_t>(found->numbers[0]);
  };
  const auto region = static_cast<std::int64_t>(number("region"));
  names_[{call.thread, region}] = {std::string(arguments_.find("name")->text),
                                   static_cast<std::int64_t>(number("parent"))};
  RegionRecord& record = regions_[path_of(call.thread, region)];
  record.first_ns = std::min(record.first_ns, call.start_ns);
  record.last_ns = std::max(record.last_ns, call.start_ns);
  if (note == Thing::kRegionBegin) {
    ++record.entered;
    return;
  }
  const std::uint64_t ns = number("region_ns");
  record.ns += ns;
  record.io_ns += number("io_ns");
  record.calls += number("calls");
  record.read += number("bytes_read");
  record.written += number("bytes_written");
  if (note == Thing::kRegionEnd) {
    ++record.ended;
    record.least_ns = std::min(record.least_ns, ns);
    record.largest_ns = std::max(record.largest_ns, ns);
    return;
  }
  record.entered += number("count");
  record.ended += number("count");
  record.least_ns = std::min(record.least_ns, number("least_ns"));
  record.largest_ns = std::max(record.largest_ns, number("largest_ns"));
  const std::uint64_t first = call.start_ns - std::min(call.start_ns, number("before_ns"));
  record.first_ns = std::min(record.first_ns, first);
  record.last_ns = std::max(record.last_ns, first + number("span_ns"));
}

void RegionNotes::finish(RegionTable& all, std::uint64_t wall_ns) {
  for (const auto& [path, own] : regions_) {
    RegionRecord& record = all[path];
    record.entered += own.entered;
    record.ended += own.ended;
    record.ns += own.ns;
    record.io_ns += own.io_ns;
    record.least_ns = std::min(record.least_ns, own.least_ns);
    record.largest_ns = std::max(record.largest_ns, own.largest_ns);
    record.calls += own.calls;
    record.read += own.read;
    record.written += own.written;
    record.first_ns = std::min(record.first_ns, wall_ns + own.first_ns);
    record.last_ns = std::max(record.last_ns, wall_ns + own.last_ns);
    ++record.processes;
    record.slowest_ns = std::max(record.slowest_ns, own.ns);
    record.slowest_io_ns = std::max(record.slowest_io_ns, own.io_ns);
  }
  regions_.clear();
  names_.clear();
}

std::vector<RegionPattern> region_patterns(const RegionTable& all, std::uint64_t run_start) {
  std::vector<RegionPattern> patterns;
  for (const auto& [path, record] : all) {
    if (!path.empty()) patterns.push_back(pattern_of(path, record, run_start));
  }
  // What lies around a region began before it: by the first begins of the paths to both.
  const auto begin_of = [&](const RegionPath& path, std::size_t depth) {
    const auto found =
        all.find(RegionPath(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth)));
    return found == all.end() ? UINT64_MAX : found->second.first_ns;
  };
  std::stable_sort(patterns.begin(), patterns.end(),
                   [&](const RegionPattern& a, const RegionPattern& b) {
                     const std::size_t shared = std::min(a.path.size(), b.path.size());
                     for (std::size_t i = 0; i < shared; ++i) {
                       if (a.path[i] == b.path[i]) continue;
                       const std::uint64_t first = begin_of(a.path, i + 1);
                       const std::uint64_t second = begin_of(b.path, i + 1);
                       return first != second ? first < second : a.path[i] < b.path[i];
                     }
                     return a.path.size() < b.path.size();
                   });
  return patterns;
}

}  // namespace iotune::analyzer
