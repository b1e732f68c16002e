#include "analyzer/datasets/distribution.h"

#include <algorithm>
#include <optional>

namespace iotune::analyzer {
namespace {

using Sets = std::vector<const IndexSet*>;

// Runs that follow each other without a gap, one for each part.
bool is_block(const Sets& sorted) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!sorted[i]->is_interval()) return false;
    if (i > 0 && sorted[i]->first() != sorted[i - 1]->end()) return false;
  }
  return true;
}

// Blocks of k dealt out in turns; the last round may end anywhere. Returns k, 0 if it is not so.
std::uint64_t cyclic_block(const Sets& sorted) {
  const std::uint64_t base = sorted.front()->first();
  const std::uint64_t k = sorted.front()->progressions().front().block;
  std::uint64_t end = 0, period = 0;
  for (const IndexSet* set : sorted) end = std::max(end, set->end());
  if (__builtin_mul_overflow(k, sorted.size(), &period)) return 0;
  for (std::size_t j = 0; j < sorted.size(); ++j) {
    const std::uint64_t start = base + j * k;
    if (start >= end) return 0;
    const std::uint64_t whole = end - start < k ? 0 : (end - start - k) / period + 1;
    const std::uint64_t rest = start + whole * period;
    const std::optional<IndexSet> rounds = IndexSet::of(start, period, whole, k);
    const IndexSet cut = rest < end ? IndexSet::interval(rest, end - rest) : IndexSet();
    if (!rounds) return 0;
    const std::optional<IndexSet> expected = IndexSet::united({&*rounds, &cut});
    if (!expected || !(*expected == *sorted[j])) return 0;
  }
  return k;
}

struct Run {
  std::int64_t first, end;
  std::int64_t size() const { return end - first; }
};

// A part as one run. Where the dimension, of `whole` indices, is a ring, the first part may begin
// before it and the last one end behind it.
std::optional<Run> as_run(const IndexSet& set, const Run& whole) {
  std::vector<Run> runs;
  if (set.runs() > 2) return std::nullopt;
  for (const Progression& p : set.progressions()) {
    for (std::uint64_t i = 0; i < p.count; ++i) {
      const auto start = static_cast<std::int64_t>(p.start + i * p.stride);
      runs.push_back({start, start + static_cast<std::int64_t>(p.block)});
    }
  }
  if (runs.size() == 1) return runs[0];
  if (runs[0].first != whole.first || runs[1].end != whole.end) return std::nullopt;
  // The shorter one is the halo.
  return runs[0].size() >= runs[1].size() ? Run{runs[1].first - whole.size(), runs[0].end}
                                          : Run{runs[1].first, runs[0].end + whole.size()};
}

// One run for each part, and all neighbours share equally many elements. No element is in more
// than two parts, and a halo is at most half as wide as the block that it surrounds. Returns
// what neighbours share, 0 if it is not so.
std::uint64_t halo_width(const Sets& sets) {
  Run whole{static_cast<std::int64_t>(sets.front()->first()), 0};
  for (const IndexSet* set : sets) {
    whole.first = std::min(whole.first, static_cast<std::int64_t>(set->first()));
    whole.end = std::max(whole.end, static_cast<std::int64_t>(set->end()));
  }
  std::vector<Run> runs;
  for (const IndexSet* set : sets) {
    const std::optional<Run> run = as_run(*set, whole);
    if (!run) return 0;
    runs.push_back(*run);
  }
  const std::size_t n = runs.size();
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  const std::int64_t shared = runs[0].end - runs[1].first;
  if (shared <= 0) return 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 && runs[i - 1].end - runs[i].first != shared) return 0;
    if (i > 1 && runs[i - 2].end > runs[i].first) return 0;
    if (2 * runs[i].size() < 3 * shared) return 0;
  }
  // Both ends of a ring, or none.
  const bool before = runs.front().first<whole.first, behind = runs.back().end> whole.end;
  const std::int64_t around = runs.back().end - whole.size() - runs.front().first;
  if ((before || behind) && around != shared) return 0;
  return static_cast<std::uint64_t>(shared);
}

}  // namespace

NamedDimension name_dimension(Sets sets) {
  std::uint64_t count = 0;
  for (const IndexSet* set : sets) count = std::max(count, set->size());
  if (sets.size() == 1) {
    return {{sets[0]->is_interval() ? Distribution::kWhole : Distribution::kIrregular, count, 1}};
  }
  std::sort(sets.begin(), sets.end(),
            [](const IndexSet* a, const IndexSet* b) { return a->first() < b->first(); });
  if (is_block(sets)) return {{Distribution::kBlock, count, 1}};
  if (const std::uint64_t k = cyclic_block(sets); k > 0) {
    return {{k == 1 ? Distribution::kCyclic : Distribution::kCyclicK, count, k}};
  }
  if (const std::uint64_t halo = halo_width(sets); halo > 0) {
    return {{Distribution::kBlock, count, 1}, halo};
  }
  return {{Distribution::kIrregular, count, 1}};
}

}  // namespace iotune::analyzer
