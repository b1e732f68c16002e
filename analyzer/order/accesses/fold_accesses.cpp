#include "analyzer/order/accesses/fold_accesses.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analyzer/order/count_overlaps.h"

namespace iotune::analyzer {
namespace {

// Loops of fewer accesses are none: two accesses are always "regular".
constexpr std::uint64_t kFewestInLoop = 4;
constexpr std::size_t kMostLevels = 12;

bool same_levels(const std::vector<RunLevel>& loops, std::size_t from, const AccessRun& body) {
  return std::equal(loops.begin() + static_cast<std::ptrdiff_t>(from), loops.end(),
                    body.levels.begin(), body.levels.end());
}

// Whether `next` is one more iteration of the outermost loop of `run`; it then is.
bool grow(AccessRun& run, const AccessRun& next) {
  if (run.levels.empty() || !same_levels(run.levels, 1, next)) return false;
  RunLevel& outer = run.levels.front();
  const auto segment = run.segment + static_cast<std::uint64_t>(outer.segment_step * outer.count);
  if (next.start - run.start != outer.stride * outer.count || next.segment != segment) return false;
  ++outer.count;
  return true;
}

// Whether the innermost loops of both are of one kind, so that `next` prolongs the last iteration.
bool prolong(AccessRun& run, const AccessRun& next) {
  if (run.levels.size() != 1 || next.levels.size() != 1) return false;
  RunLevel& loop = run.levels.front();
  const RunLevel& more = next.levels.front();
  const auto segment = run.segment + static_cast<std::uint64_t>(loop.segment_step * loop.count);
  if (loop.stride != more.stride || loop.segment_step != more.segment_step ||
      next.start - run.start != loop.stride * loop.count || next.segment != segment) {
    return false;
  }
  loop.count += more.count;
  return true;
}

// Both as the first two iterations of a loop.
bool pair_up(AccessRun& run, const AccessRun& next) {
  if (run.levels.size() == kMostLevels || !same_levels(run.levels, 0, next)) return false;
  run.levels.insert(run.levels.begin(), {next.start - run.start, 2,
                                         static_cast<std::int64_t>(next.segment - run.segment)});
  return true;
}

void expand(const AccessRun& run, std::vector<AccessRun>& to) {
  if (run.levels.empty()) {
    to.push_back(run);
    return;
  }
  const RunLevel outer = run.levels.front();
  AccessRun inner = run;
  inner.levels.erase(inner.levels.begin());
  for (std::int64_t i = 0; i < outer.count; ++i) {
    expand(inner, to);
    inner.start += outer.stride;
    inner.segment += static_cast<std::uint64_t>(outer.segment_step);
  }
}

}  // namespace

void AccessFolder::add(AccessRun run) {
  if (last_is_open_ && (grow(runs_.back(), run) || prolong(runs_.back(), run))) return;
  // Two single accesses may be a loop; whether two loops are, shows when the second has ended.
  if (last_is_open_ && run.levels.empty() && runs_.back().levels.empty() &&
      pair_up(runs_.back(), run)) {
    return;
  }
  close_last();
  runs_.push_back(std::move(run));
  last_is_open_ = true;
}

// The last run is as long as it will be: an iteration of a loop around it?
void AccessFolder::close_last() {
  last_is_open_ = false;
  while (runs_.size() >= 2) {
    AccessRun& before = runs_[runs_.size() - 2];
    const AccessRun& last = runs_.back();
    if (!grow(before, last) && (last.levels.empty() || !pair_up(before, last))) return;
    runs_.pop_back();
  }
}

void AccessFolder::finish(std::vector<AccessRun>& to) {
  close_last();
  for (const AccessRun& run : runs_) {
    if (!run.levels.empty() && accesses_of(run) < kFewestInLoop) {
      expand(run, to);
    } else {
      to.push_back(run);
    }
  }
  runs_.clear();
}

}  // namespace iotune::analyzer
