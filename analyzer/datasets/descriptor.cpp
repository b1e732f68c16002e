#include "analyzer/datasets/descriptor.h"

#include <algorithm>

#include "analyzer/datasets/distribution.h"

namespace iotune::analyzer {

std::uint32_t Decomposition::Parts::index_of(const IndexSet& set) {
  constexpr std::size_t kFew = 16;  // comparing them costs no more than a hash
  if (sets.size() <= kFew) {
    const auto found = std::find(sets.begin(), sets.end(), set);
    if (found != sets.end()) return static_cast<std::uint32_t>(found - sets.begin());
  } else {
    for (std::size_t i = by_hash.size(); i < sets.size(); ++i) {
      by_hash.emplace(sets[i].hash(), static_cast<std::uint32_t>(i));
    }
    for (auto [at, end] = by_hash.equal_range(set.hash()); at != end; ++at) {
      if (sets[at->second] == set) return at->second;
    }
  }
  sets.push_back(set);
  return static_cast<std::uint32_t>(sets.size() - 1);
}

void Decomposition::add(const Region& rank) {
  if (rank.empty()) return;
  if (of_.empty()) of_.resize(dimensions_);
  const std::vector<std::uint64_t> extents = rank.extents();
  for (std::size_t d = 0; d < dimensions_; ++d) {
    Dimension& dimension = of_[d];
    dimension.count = std::max(dimension.count, extents[d]);
    dimension.undivided = dimension.undivided && rank.known();
    for (const Product& part : rank.parts()) {
      if (dimension.first.empty()) dimension.first = part[d];
      dimension.undivided = dimension.undivided && part[d] == dimension.first;
    }
  }
  ++ranks_;
  if (regular_ && !rank.regular()) {
    regular_ = false;
    places_ = {};
    for (Dimension& dimension : of_) dimension.parts = {};
  }
  if (!regular_) return;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    places_.push_back(of_[d].parts.index_of(rank.parts()[0][d]));
  }
}

// True where every combination of parts is held by equally many ranks.
bool Decomposition::is_full_grid() const {
  std::uint64_t cells = 1;
  for (const Dimension& dimension : of_) {
    if (__builtin_mul_overflow(cells, dimension.parts.sets.size(), &cells) || cells > ranks_) {
      return false;
    }
  }
  if (ranks_ % cells != 0) return false;
  std::vector<std::uint32_t> held(cells);
  for (std::size_t at = 0; at < places_.size(); at += dimensions_) {
    std::uint64_t cell = 0;
    for (std::size_t d = 0; d < dimensions_; ++d) {
      cell = cell * of_[d].parts.sets.size() + places_[at + d];
    }
    ++held[cell];
  }
  return std::all_of(held.begin(), held.end(),
                     [&](std::uint32_t ranks) { return ranks == ranks_ / cells; });
}

// Where not all is regular, a dimension that nobody divides is still `*`.
DescribedRegions Decomposition::irregular() const {
  DescribedRegions result;
  result.ranks = ranks_;
  bool all_whole = true;
  for (const Dimension& dimension : of_) {
    const bool whole = dimension.undivided && dimension.first.is_interval();
    all_whole = all_whole && whole;
    result.descriptor.dimensions.push_back(
        {whole ? Distribution::kWhole : Distribution::kIrregular, dimension.count, 1});
  }
  // All of them undivided is no division at all: it is the grid that is irregular.
  if (all_whole) {
    for (DimensionPattern& d : result.descriptor.dimensions) {
      d.distribution = Distribution::kIrregular;
    }
  }
  return result;
}

DescribedRegions Decomposition::described() const {
  if (ranks_ == 0) return {};
  if (!regular_ || !is_full_grid()) return irregular();
  DescribedRegions result;
  result.ranks = ranks_;
  bool all_named = true, halos = false;
  for (const Dimension& dimension : of_) {
    std::vector<const IndexSet*> sets;
    for (const IndexSet& set : dimension.parts.sets) sets.push_back(&set);
    const NamedDimension named = name_dimension(std::move(sets));
    result.descriptor.dimensions.push_back(named.pattern);
    result.process_grid.push_back(dimension.parts.sets.size());
    result.halo.push_back(named.halo);
    halos = halos || named.halo > 0;
    all_named = all_named && named.pattern.distribution != Distribution::kIrregular;
  }
  if (!all_named) result.process_grid.clear();
  if (!halos) result.halo.clear();
  return result;
}

DescribedRegions descriptor_of(std::size_t dimensions, const std::vector<const Region*>& ranks) {
  Decomposition decomposition(dimensions);
  for (const Region* region : ranks) decomposition.add(*region);
  return decomposition.described();
}

}  // namespace iotune::analyzer
