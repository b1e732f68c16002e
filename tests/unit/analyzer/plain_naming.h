// What docs/descriptors.md says, spelt out index by index: slow, and without any of the analyzer's
// own sets. What the analyzer finds is compared with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace iotune::analyzer::plain {

using Index = std::vector<std::int64_t>;
using Indices = std::set<std::int64_t>;
using Share = std::set<Index>;  // what one rank moved

inline bool is_run(const Indices& set) {
  return *set.rbegin() - *set.begin() + 1 == static_cast<std::int64_t>(set.size());
}

// The owner of `index` where blocks of k are dealt out in turns from `base` on.
inline bool is_cyclic(const std::vector<Indices>& sorted, std::int64_t k) {
  const std::int64_t base = *sorted[0].begin();
  std::map<std::int64_t, std::size_t> owner;
  for (std::size_t j = 0; j < sorted.size(); ++j) {
    for (const std::int64_t i : sorted[j]) {
      if (!owner.try_emplace(i, j).second) return false;
    }
  }
  std::int64_t next = base;
  for (const auto& [index, part] : owner) {
    if (index != next++) return false;
    if (static_cast<std::size_t>((index - base) / k) % sorted.size() != part) return false;
  }
  return true;
}

// The part in the other coordinates of a ring from `base` on: the shorter of two runs, of which
// each reaches an end, is moved behind or before the other.
inline Indices around_ring(const Indices& set, std::int64_t base, std::int64_t size) {
  if (is_run(set) || !set.contains(base) || !set.contains(base + size - 1)) return set;
  std::int64_t low = base, high = base + size - 1;
  while (set.contains(low)) ++low;
  while (set.contains(high)) --high;
  const bool low_moves = low - base < base + size - 1 - high;
  Indices moved;
  for (const std::int64_t i : set) {
    if (low_moves) moved.insert(i < low ? i + size : i);
    if (!low_moves) moved.insert(i > high ? i - size : i);
  }
  return moved;
}

// Blocks without a gap, of which each was widened by a fixed number on both sides together, on
// a line or on a ring.
inline std::int64_t halo_of(const std::vector<Indices>& parts) {
  std::int64_t base = INT64_MAX, last = 0;
  for (const Indices& part : parts) {
    base = std::min(base, *part.begin());
    last = std::max(last, *part.rbegin());
  }
  const std::int64_t size = last + 1 - base;
  std::vector<Indices> sorted;
  for (const Indices& part : parts) sorted.push_back(around_ring(part, base, size));
  std::sort(sorted.begin(), sorted.end(),
            [](const Indices& a, const Indices& b) { return *a.begin() < *b.begin(); });
  std::int64_t shared = 0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    const std::int64_t both = *sorted[i].rbegin() + 1 - *sorted[i + 1].begin();
    if (both <= 0 || (i > 0 && both != shared)) return 0;
    shared = both;
    if (i + 2 < sorted.size() && *sorted[i].rbegin() >= *sorted[i + 2].begin()) return 0;
  }
  for (const Indices& set : sorted) {
    if (!is_run(set) || 2 * static_cast<std::int64_t>(set.size()) < 3 * shared) return 0;
  }
  const bool ring = *sorted[0].begin() < base || *sorted.back().rbegin() > last;
  const std::int64_t round = *sorted.back().rbegin() + 1 - size - *sorted[0].begin();
  return ring && round != shared ? 0 : shared;
}

inline std::string name_of(const std::set<Indices>& sets) {
  std::vector<Indices> sorted(sets.begin(), sets.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Indices& a, const Indices& b) { return *a.begin() < *b.begin(); });
  bool runs = true, follow = true;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    runs = runs && is_run(sorted[i]);
    follow = follow && (i == 0 || *sorted[i].begin() == *sorted[i - 1].rbegin() + 1);
  }
  if (sorted.size() == 1) return runs ? "*" : "IRREGULAR";
  if (runs && follow) return "BLOCK";
  std::int64_t k = 1;
  while (sorted[0].contains(*sorted[0].begin() + k)) ++k;
  if (is_cyclic(sorted, k)) return k == 1 ? "CYCLIC" : "CYCLIC(" + std::to_string(k) + ")";
  return halo_of(sorted) > 0 ? "BLOCK" : "IRREGULAR";
}

// The descriptor of ranks that all moved something.
inline std::string descriptor_of(const std::vector<Share>& ranks) {
  const std::size_t n = ranks[0].begin()->size();
  std::vector<std::vector<Indices>> held(ranks.size(), std::vector<Indices>(n));
  std::vector<std::set<Indices>> sets(n);
  std::map<std::vector<Indices>, std::size_t> cells;
  bool products = true;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const Index& index : ranks[r]) {
      for (std::size_t d = 0; d < n; ++d) held[r][d].insert(index[d]);
    }
    std::size_t points = 1;
    for (std::size_t d = 0; d < n; ++d) {
      points *= held[r][d].size();
      sets[d].insert(held[r][d]);
    }
    products = products && points == ranks[r].size();
    ++cells[held[r]];
  }
  std::size_t places = 1;
  for (const auto& of_dimension : sets) places *= of_dimension.size();
  bool grid = products && cells.size() == places;
  for (const auto& [cell, holders] : cells) grid = grid && holders == ranks.size() / places;
  grid = grid && ranks.size() % places == 0;
  std::vector<std::string> names;
  std::string counts;
  for (std::size_t d = 0; d < n; ++d) {
    std::size_t count = 0;
    for (const Indices& set : sets[d]) count = std::max(count, set.size());
    counts += (d > 0 ? "," : "") + std::to_string(count);
    if (grid) names.push_back(name_of(sets[d]));
  }
  if (!grid) {
    // A dimension is undivided where every row along it that a rank touches is whole.
    bool all_whole = true;
    for (std::size_t d = 0; d < n; ++d) {
      bool whole = sets[d].size() == 1 && is_run(*sets[d].begin());
      for (const Share& share : ranks) {
        std::map<Index, std::size_t> rows;
        for (Index index : share) {
          index[d] = 0;
          ++rows[index];
        }
        for (const auto& [row, size] : rows) whole = whole && size == sets[d].begin()->size();
      }
      names.push_back(whole ? "*" : "IRREGULAR");
      all_whole = all_whole && whole;
    }
    if (all_whole) names.assign(n, "IRREGULAR");
  }
  std::string text = "<" + std::to_string(n) + "D,(";
  for (std::size_t d = 0; d < n; ++d) text += (d > 0 ? "," : "") + names[d];
  return text + "),(" + counts + ")>";
}

}  // namespace iotune::analyzer::plain
