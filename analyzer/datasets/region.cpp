#include "analyzer/datasets/region.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

// What does not join into fewer products than this is not a pattern that a descriptor could
// name.
constexpr std::size_t kMaxParts = 65536;
// Comparing all pairs is for few.
constexpr std::size_t kMaxCompared = 512;
// Steps in deciding whether parts fill their hull.
constexpr std::size_t kMaxFilled = std::size_t{1} << 22U;

bool equal_but_for(const Product& a, const Product& b, std::size_t dimension) {
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (d != dimension && !(a[d] == b[d])) return false;
  }
  return true;
}

std::uint64_t hash_but_for(const Product& product, std::size_t dimension) {
  std::uint64_t hash = 0;
  for (std::size_t d = 0; d < product.size(); ++d) {
    if (d != dimension) hash = (hash ^ product[d].hash()) * 0xff51afd7ed558ccdU + d;
  }
  return hash;
}

bool contains(const Product& outer, const Product& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (!outer[d].contains(inner[d])) return false;
  }
  return true;
}

// Whether the products, from dimension `d` on, fill `hull` together. `work` bounds the effort:
// with none left the answer is false.
bool fills(const std::vector<const Product*>& parts, const Product& hull, std::size_t d,
           std::size_t& work) {
  if (parts.empty()) return false;
  if (d == hull.size()) return true;
  // Between two cuts the same parts hold every index.
  std::vector<std::uint64_t> cuts;
  for (const Product* part : parts) {
    for (const Progression& p : (*part)[d].progressions()) {
      if (p.count > work) return false;
      work -= p.count;
      for (std::uint64_t i = 0; i < p.count; ++i) {
        cuts.push_back(p.start + i * p.stride);
        cuts.push_back(cuts.back() + p.block);
      }
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (hull[d].first() < cuts.front() || hull[d].end() > cuts.back()) return false;
  std::vector<const Product*> before;
  bool before_fills = false;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const IndexSet piece = IndexSet::interval(cuts[i], cuts[i + 1] - cuts[i]);
    if (!hull[d].may_meet(piece)) continue;
    std::vector<const Product*> here;
    for (const Product* part : parts) {
      if (part->at(d).may_meet(piece)) here.push_back(part);
    }
    if (work < parts.size()) return false;
    work -= parts.size();
    if (here != before) before_fills = fills(here, hull, d + 1, work);
    if (!before_fills) return false;
    before = std::move(here);
  }
  return true;
}

// Of each dimension what any of the products has there; empty where that is too much.
Product hull_of(const std::vector<Product>& parts, std::size_t dimensions) {
  Product hull;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::vector<const IndexSet*> sets;
    sets.reserve(parts.size());
    for (const Product& part : parts) sets.push_back(&part[d]);
    std::optional<IndexSet> set = IndexSet::united(std::move(sets));
    if (!set) return {};
    hull.push_back(std::move(*set));
  }
  return hull;
}

}  // namespace

std::uint64_t points_of(const Product& product) {
  std::uint64_t points = 1;
  for (const IndexSet& set : product) points = saturating_product(points, set.size());
  return points;
}

void Region::add(Product product) {
  const std::uint64_t points = points_of(product);
  if (points == 0) return;
  moved_ = saturating_sum(moved_, points);
  if (!parts_.empty() && (parts_.back() == product || parts_.front() == product)) return;
  parts_.push_back(std::move(product));
  if (parts_.size() < merge_at_) return;
  merge();
  merge_at_ = std::max<std::size_t>(4096, 2 * parts_.size());
  if (parts_.size() > kMaxParts) give_up();
}

void Region::add_unknown(const std::vector<std::uint64_t>& first,
                         const std::vector<std::uint64_t>& last, std::uint64_t points) {
  moved_ = saturating_sum(moved_, points);
  unknown_ = true;
  Product corners;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    const bool given = d < first.size() && d < last.size() && last[d] >= first[d] &&
                       last[d] - first[d] < UINT64_MAX / 4 && first[d] < UINT64_MAX / 4;
    if (!given) return;
    corners.push_back(IndexSet::interval(first[d], last[d] - first[d] + 1));
  }
  parts_.push_back(std::move(corners));
}

void Region::finish() {
  merge();
  drop_contained();
  try_hull();
}

// Products that differ in one dimension only are joined there.
bool Region::merge_along(std::size_t dimension) {
  std::unordered_multimap<std::uint64_t, std::vector<std::size_t>> groups;
  groups.reserve(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::uint64_t hash = hash_but_for(parts_[i], dimension);
    auto [at, end] = groups.equal_range(hash);
    while (at != end && !equal_but_for(parts_[at->second.front()], parts_[i], dimension)) ++at;
    if (at == end) {
      groups.emplace(hash, std::vector<std::size_t>{i});
    } else {
      at->second.push_back(i);
    }
  }
  if (groups.size() == parts_.size()) return false;
  // In the order of their first members, so that equal programs give equal results.
  std::vector<const std::vector<std::size_t>*> ordered;
  for (const auto& [hash, group] : groups) ordered.push_back(&group);
  std::sort(ordered.begin(), ordered.end(),
            [](const auto* a, const auto* b) { return a->front() < b->front(); });
  std::vector<Product> merged;
  bool changed = false;
  for (const std::vector<std::size_t>* group : ordered) {
    std::vector<const IndexSet*> sets;
    for (const std::size_t i : *group) sets.push_back(&parts_[i][dimension]);
    std::optional<IndexSet> set =
        group->size() > 1 ? IndexSet::united(std::move(sets)) : std::nullopt;
    if (set) {
      changed = true;
      Product product = std::move(parts_[group->front()]);
      product[dimension] = std::move(*set);
      merged.push_back(std::move(product));
    } else {
      for (const std::size_t i : *group) merged.push_back(std::move(parts_[i]));
    }
  }
  parts_ = std::move(merged);
  return changed;
}

void Region::merge() {
  bool changed = parts_.size() > 1;
  while (changed) {
    changed = false;
    // The last dimension first: programs that go row by row do so in this order.
    for (std::size_t d = dimensions_; d-- > 0 && parts_.size() > 1;) {
      changed = merge_along(d) || changed;
    }
  }
}

void Region::drop_contained() {
  if (parts_.size() < 2 || parts_.size() > kMaxCompared) return;
  for (std::size_t i = 0; i < parts_.size();) {
    bool inside = false;
    for (std::size_t j = 0; j < parts_.size() && !inside; ++j) {
      inside = i != j && contains(parts_[j], parts_[i]);
    }
    if (inside) {
      parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  merge();
}

// Parts that overlap, or of which no two share a side (a pinwheel), may be one product all the
// same.
void Region::try_hull() {
  if (parts_.size() < 2 || parts_.size() > kMaxCompared || unknown_) return;
  Product hull = hull_of(parts_, dimensions_);
  if (hull.empty()) return;
  std::uint64_t sum = 0;
  std::vector<const Product*> parts;
  for (const Product& part : parts_) {
    sum = saturating_sum(sum, points_of(part));
    parts.push_back(&part);
  }
  if (sum < points_of(hull)) return;
  std::size_t work = kMaxFilled;
  if (fills(parts, hull, 0, work)) parts_ = {std::move(hull)};
}

void Region::give_up() {
  Product corners;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    std::uint64_t first = UINT64_MAX, end = 0;
    for (const Product& part : parts_) {
      first = std::min(first, part[d].first());
      end = std::max(end, part[d].end());
    }
    corners.push_back(IndexSet::interval(first, end - first));
  }
  parts_ = {std::move(corners)};
  unknown_ = true;
}

std::vector<std::uint64_t> Region::extents() const {
  std::vector<std::uint64_t> extents(dimensions_, 0);
  if (parts_.empty()) return extents;
  if (parts_.size() == 1) {
    for (std::size_t d = 0; d < parts_[0].size(); ++d) extents[d] = parts_[0][d].size();
    return extents;
  }
  const Product hull = hull_of(parts_, dimensions_);
  for (std::size_t d = 0; d < dimensions_; ++d) {
    if (!hull.empty()) {
      extents[d] = hull[d].size();
      continue;
    }
    std::uint64_t first = UINT64_MAX, end = 0;
    for (const Product& part : parts_) {
      first = std::min(first, part[d].first());
      end = std::max(end, part[d].end());
    }
    extents[d] = end - first;
  }
  return extents;
}

std::uint64_t Region::times_moved() const {
  if (unknown_ || parts_.empty()) return moved_ > 0 ? 1 : 0;
  std::uint64_t once = 0;
  for (const Product& part : parts_) once = saturating_sum(once, points_of(part));
  return once == 0 ? 1 : std::max<std::uint64_t>(1, moved_ / once);
}

}  // namespace iotune::analyzer
