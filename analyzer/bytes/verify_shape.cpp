#include "analyzer/bytes/verify_shape.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace iotune::analyzer {
namespace {

// Of one rank. Beyond them its rows are taken for what they were found to be.
constexpr std::size_t kMostPieces = std::size_t{1} << 16U;

using Pieces = std::vector<Progression>;

// `columns` in each of `rows`, which are `width` apart. False: too many pieces.
bool repeat(const IndexSet& rows, std::uint64_t width, const IndexSet& columns, Pieces& to) {
  if (columns.is_interval() && columns.first() == 0 && columns.end() == width) {
    for (const Progression& p : rows.progressions()) {
      to.push_back({p.start * width, p.stride * width, p.count, p.block * width});
    }
    return to.size() <= kMostPieces;
  }
  for (const Progression& row : rows.progressions()) {
    for (const Progression& column : columns.progressions()) {
      const bool one = column.count == 1;
      const std::uint64_t times = row.block * (one ? 1 : row.count);
      if (times > kMostPieces || to.size() + times > kMostPieces) return false;
      for (std::uint64_t k = 0; k < row.block; ++k) {
        const std::uint64_t start = (row.start + k) * width + column.start;
        if (one) {
          to.push_back({start, row.count == 1 ? 0 : row.stride * width, row.count, column.block});
          continue;
        }
        for (std::uint64_t i = 0; i < row.count; ++i) {
          to.push_back({start + i * row.stride * width, column.stride, column.count, column.block});
        }
      }
    }
  }
  return true;
}

// What a rank holds, in elements from the array's beginning. Nothing: too much to be written out.
std::optional<IndexSet> expanded(const InferredShape& shape, std::size_t rank) {
  const std::size_t n = shape.parts.size(), outer = shape.dims.size() - n;
  IndexSet set = shape.parts[n - 1].at(rank);
  std::uint64_t width = 1;
  for (std::size_t d = n - 1; d-- > 0;) {
    width *= shape.dims[outer + d + 1];
    Pieces pieces;
    if (!repeat(shape.parts[d].at(rank), width, set, pieces)) return std::nullopt;
    std::sort(pieces.begin(), pieces.end(),
              [](const Progression& a, const Progression& b) { return a.start < b.start; });
    const std::optional<IndexSet> rows = IndexSet::of_pieces(pieces);
    if (!rows) return std::nullopt;
    set = *rows;
  }
  return set;
}

bool are_rounds(const std::vector<IndexSet>& sorted, std::uint64_t k) {
  std::uint64_t end = 0, size = 0;
  const std::uint64_t base = sorted.front().first(), period = k * sorted.size();
  for (const IndexSet& set : sorted) {
    end = std::max(end, set.end());
    size += set.size();
  }
  for (std::size_t j = 0; j < sorted.size(); ++j) {
    for (const Progression& p : sorted[j].progressions()) {
      const std::uint64_t at = p.start - base;
      if (at % period != j * k || (p.count > 1 && p.stride % period != 0)) return false;
      if (p.block > k || (p.block < k && p.end() != end)) return false;
    }
  }
  return size == end - base;
}

// The sets of one dimension are divided as its name says.
bool is_named_rightly(const DimensionPattern& name, std::uint64_t halo, const IndexSets& sets) {
  if (sets.largest_size() != name.count) return false;
  std::vector<IndexSet> parts = sets.distinct();
  std::sort(parts.begin(), parts.end(),
            [](const IndexSet& a, const IndexSet& b) { return a.first() < b.first(); });
  switch (name.distribution) {
    case Distribution::kWhole:
      return parts.size() == 1 && parts[0].is_interval();
    case Distribution::kBlock:
      if (halo > 0 && !parts.front().is_interval()) return true;  // a ring: name_dimension's alone
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i].is_interval()) return halo > 0;
        if (i > 0 && parts[i].first() + halo != parts[i - 1].end()) return false;
      }
      return parts.size() > 1;
    case Distribution::kCyclic:
    case Distribution::kCyclicK:
      return are_rounds(parts, name.cyclic_block);
    case Distribution::kIrregular:
      return false;
  }
  return false;
}

}  // namespace

bool describes(const InferredShape& shape, const IndexSets& ranks) {
  const std::size_t n = shape.parts.size(), outer = shape.dims.size() - n;
  const DescribedRegions& described = shape.described;
  if (n == 0 || described.descriptor.dimensions.size() != shape.dims.size()) return false;
  for (std::size_t d = 0; d < n; ++d) {
    const std::uint64_t halo = described.halo.empty() ? 0 : described.halo[outer + d];
    if (shape.parts[d].size() != ranks.size()) return false;
    if (!is_named_rightly(described.descriptor.dimensions[outer + d], halo, shape.parts[d])) {
      return false;
    }
  }
  const std::uint64_t first = shape.declared ? shape.first_byte : ranks.least();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::optional<IndexSet> said = expanded(shape, r);
    if (!said) continue;
    const std::optional<IndexSet> moved = ranks.at(r).in_units(first, shape.element_bytes);
    if (!moved || !(*said == *moved)) return false;
  }
  return true;
}

InferredShape verified_shape(const IndexSets& ranks, const ShapeHint& hint) {
  InferredShape shape = infer_shape(ranks, hint);
  if (shape.described.process_grid.empty() || describes(shape, ranks)) return shape;
  return irregular_shape(ranks, shape.element_bytes);
}

}  // namespace iotune::analyzer
