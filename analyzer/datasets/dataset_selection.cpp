#include "analyzer/datasets/dataset_selection.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

using recorder::Selection;

std::uint64_t corner(const Selection& selection, std::size_t row, std::size_t d) {
  return static_cast<std::uint64_t>(selection.row(row)[d]);
}

// From one corner to the other, which belongs to it.
Product box_of(const Selection& selection, std::size_t first, std::size_t last) {
  Product product;
  for (std::size_t d = 0; d < selection.dimensions; ++d) {
    const std::uint64_t from = corner(selection, first, d), to = corner(selection, last, d);
    product.push_back(IndexSet::interval(from, to >= from ? to - from + 1 : 0));
  }
  return product;
}

void add_product(Product product, std::vector<std::uint64_t>& dims, Region& region) {
  for (std::size_t d = 0; d < product.size(); ++d) {
    if (!product[d].empty()) dims[d] = std::max(dims[d], product[d].end());
  }
  region.add(std::move(product));
}

// Hyperslabs that move on along one dimension, where each is one run, as one; in `values`. False,
// with these as they were, where they are no hyperslab together.
bool joined(const Selection& first, std::span<const std::int64_t> steps, std::uint64_t calls,
            std::span<std::int64_t> values) {
  const std::size_t n = first.dimensions;
  if (first.kind != Selection::Kind::kRegular || steps.size() != n) return false;
  std::optional<std::size_t> along;
  for (std::size_t d = 0; d < n; ++d) {
    if (steps[d] == 0) continue;
    if (along) return false;
    along = d;
  }
  if (!along) return false;
  const std::size_t d = *along;
  const std::int64_t start = first.row(0)[d], stride = first.row(1)[d], count = first.row(2)[d],
                     block = first.row(3)[d];
  const std::int64_t step = steps[d];
  if (start < 0 || count < 1 || block < 1 || (count > 1 && stride != block)) return false;
  std::int64_t size = 0, way = 0, least = start;
  if (step == INT64_MIN || calls > INT64_MAX || __builtin_mul_overflow(count, block, &size) ||
      size > std::abs(step) ||
      __builtin_mul_overflow(step, static_cast<std::int64_t>(calls - 1), &way)) {
    return false;
  }
  if (step < 0 && (__builtin_add_overflow(start, way, &least) || least < 0)) return false;
  values[d] = least;
  values[n + d] = std::abs(step);
  values[2 * n + d] = static_cast<std::int64_t>(calls);
  values[3 * n + d] = size;
  return true;
}

}  // namespace

void add_selection(const Selection& selection, std::uint64_t points, bool scalar,
                   std::vector<std::uint64_t>& dims, Region& region) {
  using Kind = Selection::Kind;
  if (selection.kind == Kind::kNone || points == 0) return;
  if (selection.kind == Kind::kAll && selection.dimensions == 0 && scalar) {
    region.add({IndexSet::interval(0, points)});
    return;
  }
  if (selection.kind == Kind::kUnknown || selection.dimensions != region.dimensions() ||
      dims.size() != region.dimensions()) {
    region.add_unknown({}, {}, points);
    return;
  }
  const std::size_t n = selection.dimensions;
  switch (selection.kind) {
    case Kind::kAll: {
      Product product;
      for (std::size_t d = 0; d < n; ++d) {
        product.push_back(IndexSet::interval(0, corner(selection, 0, d)));
      }
      add_product(std::move(product), dims, region);
      break;
    }
    case Kind::kRegular: {
      Product product;
      for (std::size_t d = 0; d < n; ++d) {
        std::optional<IndexSet> set =
            IndexSet::of(corner(selection, 0, d), corner(selection, 1, d), corner(selection, 2, d),
                         corner(selection, 3, d));
        if (!set) {
          region.add_unknown({}, {}, points);
          return;
        }
        product.push_back(std::move(*set));
      }
      add_product(std::move(product), dims, region);
      break;
    }
    case Kind::kBlocks:
      for (std::size_t i = 0; i < selection.entries; ++i) {
        add_product(box_of(selection, 2 * i, 2 * i + 1), dims, region);
      }
      break;
    case Kind::kPoints:
      for (std::size_t i = 0; i < selection.entries; ++i) {
        add_product(box_of(selection, i, i), dims, region);
      }
      break;
    default: {
      std::vector<std::uint64_t> first, last;
      for (std::size_t d = 0; d < n; ++d) {
        first.push_back(corner(selection, 0, d));
        last.push_back(corner(selection, 1, d));
        if (last[d] < UINT64_MAX / 4) dims[d] = std::max(dims[d], last[d] + 1);
      }
      region.add_unknown(first, last, points);
    }
  }
}

void add_selections(const Selection& first, std::span<const std::int64_t> steps,
                    std::uint64_t calls, std::uint64_t points, bool scalar,
                    std::vector<std::uint64_t>& dims, Region& region) {
  if (calls == 1) return add_selection(first, points, scalar, dims, region);
  std::vector<std::int64_t> values(first.values.begin(), first.values.end());
  Selection moved = first;
  moved.values = values;
  if (joined(first, steps, calls, values)) {
    return add_selection(moved, saturating_product(points, calls), scalar, dims, region);
  }
  for (std::uint64_t k = 0; k < calls; ++k) {
    add_selection(moved, points, scalar, dims, region);
    for (std::size_t d = 0; d < steps.size(); ++d) {
      values[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(values[d]) +
                                            static_cast<std::uint64_t>(steps[d]));
    }
  }
}

}  // namespace iotune::analyzer
