#include "analyzer/descriptor.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace iotune::analyzer {
namespace {

// The different sets that ranks hold of one dimension.
struct Parts {
  std::vector<const IndexSet*> sets;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash;

  std::size_t index_of(const IndexSet& set) {
    const std::uint64_t hash = set.hash();
    auto [at, end] = by_hash.equal_range(hash);
    for (; at != end; ++at) {
      if (*sets[at->second] == set) return at->second;
    }
    sets.push_back(&set);
    by_hash.emplace(hash, sets.size() - 1);
    return sets.size() - 1;
  }
};

// Runs that follow each other without a gap, one for each part.
bool is_block(const std::vector<const IndexSet*>& sorted) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!sorted[i]->is_interval()) return false;
    if (i > 0 && sorted[i]->first() != sorted[i - 1]->end()) return false;
  }
  return true;
}

// Blocks of k dealt out in turns; the last round may end anywhere. Returns k, 0 if it is not so.
std::uint64_t cyclic_block(const std::vector<const IndexSet*>& sorted) {
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

DimensionPattern named(const Parts& parts) {
  std::uint64_t count = 0;
  for (const IndexSet* set : parts.sets) count = std::max(count, set->size());
  std::vector<const IndexSet*> sorted = parts.sets;
  std::sort(sorted.begin(), sorted.end(),
            [](const IndexSet* a, const IndexSet* b) { return a->first() < b->first(); });
  if (sorted.size() == 1) {
    return {sorted[0]->is_interval() ? Distribution::kWhole : Distribution::kIrregular, count, 1};
  }
  if (is_block(sorted)) return {Distribution::kBlock, count, 1};
  const std::uint64_t k = cyclic_block(sorted);
  if (k == 0) return {Distribution::kIrregular, count, 1};
  return {k == 1 ? Distribution::kCyclic : Distribution::kCyclicK, count, k};
}

// True where every combination of parts is held by equally many ranks.
bool is_full_grid(const std::vector<std::vector<std::size_t>>& places,
                  const std::vector<Parts>& parts) {
  std::uint64_t cells = 1;
  for (const Parts& dimension : parts) {
    if (__builtin_mul_overflow(cells, dimension.sets.size(), &cells) || cells > places.size()) {
      return false;
    }
  }
  std::map<std::vector<std::size_t>, std::uint64_t> held;
  for (const auto& place : places) ++held[place];
  if (held.size() != cells || places.size() % cells != 0) return false;
  return std::all_of(held.begin(), held.end(),
                     [&](const auto& cell) { return cell.second == places.size() / cells; });
}

// Where not all is regular, a dimension that nobody divides is still `*`.
DescribedRegions irregular(std::size_t dimensions, const std::vector<const Region*>& ranks) {
  DescribedRegions result;
  result.ranks = static_cast<std::uint32_t>(ranks.size());
  std::vector<std::uint64_t> counts(dimensions, 0);
  for (const Region* region : ranks) {
    const std::vector<std::uint64_t> extents = region->extents();
    for (std::size_t d = 0; d < dimensions; ++d) counts[d] = std::max(counts[d], extents[d]);
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    const IndexSet* whole = nullptr;
    bool undivided = true;
    for (const Region* region : ranks) {
      undivided = undivided && region->known();
      for (const Product& part : region->parts()) {
        if (whole == nullptr) whole = &part[d];
        undivided = undivided && part[d] == *whole;
      }
    }
    undivided = undivided && whole != nullptr && whole->is_interval();
    result.descriptor.dimensions.push_back(
        {undivided ? Distribution::kWhole : Distribution::kIrregular, counts[d], 1});
  }
  // All of them undivided is no division at all: it is the grid that is irregular.
  const bool nothing_left = std::none_of(
      result.descriptor.dimensions.begin(), result.descriptor.dimensions.end(),
      [](const DimensionPattern& d) { return d.distribution == Distribution::kIrregular; });
  if (nothing_left) {
    for (DimensionPattern& d : result.descriptor.dimensions) {
      d.distribution = Distribution::kIrregular;
    }
  }
  return result;
}

}  // namespace

DescribedRegions descriptor_of(std::size_t dimensions, const std::vector<const Region*>& all) {
  std::vector<const Region*> ranks;
  for (const Region* region : all) {
    if (!region->empty()) ranks.push_back(region);
  }
  if (ranks.empty()) return {};
  for (const Region* region : ranks) {
    if (!region->regular()) return irregular(dimensions, ranks);
  }
  std::vector<Parts> parts(dimensions);
  std::vector<std::vector<std::size_t>> places(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      places[r].push_back(parts[d].index_of(ranks[r]->parts()[0][d]));
    }
  }
  if (!is_full_grid(places, parts)) return irregular(dimensions, ranks);
  DescribedRegions result;
  result.ranks = static_cast<std::uint32_t>(ranks.size());
  bool all_named = true;
  for (const Parts& dimension : parts) {
    result.descriptor.dimensions.push_back(named(dimension));
    result.process_grid.push_back(dimension.sets.size());
    if (result.descriptor.dimensions.back().distribution == Distribution::kIrregular) {
      all_named = false;
    }
  }
  if (!all_named) result.process_grid.clear();
  return result;
}

}  // namespace iotune::analyzer
