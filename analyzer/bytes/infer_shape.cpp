#include "analyzer/bytes/infer_shape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/bytes/shape_candidates.h"
#include "analyzer/datasets/distribution.h"

namespace iotune::analyzer {
namespace {

using Sets = IndexSets;

constexpr std::size_t kMaxDimensions = 8;
// Rows that one rank's set is taken apart into, where they differ.
constexpr std::size_t kMaxRowPieces = 1U << 14U;
constexpr std::size_t kMaxLookedAt = 32768;  // pieces of rows that are compared at first
// Lengths of a row that are tried with all ranks: different ones, and all.
constexpr std::size_t kMaxTries = 400, kMaxSteps = 4000;
constexpr std::size_t kProbes = 8;  // ranks that a length of a row must suit first

// True where two rows of `width` have different columns, as far as the first rows tell: most
// lengths that do not suit a set are found out there, before it is taken apart.
bool rows_differ(const IndexSet& shape, std::uint64_t origin, std::uint64_t width) {
  struct Piece {
    std::uint64_t column, bytes;
    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> first;  // of the first row
  std::uint64_t first_row = 0, row = 0;
  std::size_t next = 0, pieces = 0;  // next: of `first`, which this row must have
  for (const Progression& p : shape.progressions()) {
    for (std::uint64_t i = 0; i < p.count; ++i) {
      std::uint64_t start = origin + p.start + i * p.stride, left = p.block;
      while (left > 0) {
        const Piece piece{start % width, std::min(left, width - start % width)};
        const std::uint64_t here = start / width;
        if (++pieces > kMaxLookedAt) return false;
        start += piece.bytes;
        left -= piece.bytes;
        if (first.empty()) first_row = row = here;
        if (here == first_row) {
          first.push_back(piece);
          continue;
        }
        if (here != row) {
          if (row != first_row && next != first.size()) return true;
          row = here;
          next = 0;
        }
        if (next == first.size() || !(first[next] == piece)) return true;
        ++next;
      }
    }
  }
  return row != first_row && next != first.size();
}

// `set` in rows of `width`: which rows, which columns. Nothing where the rows differ.
std::optional<Product> in_rows(const IndexSet& set, std::uint64_t width) {
  if (set.progressions().size() > kMaxRowPieces) return std::nullopt;
  if (std::optional<IndexSet> whole = set.in_units(0, width)) {
    return Product{std::move(*whole), IndexSet::interval(0, width)};
  }
  Region region(2);
  std::size_t pieces = 0;
  const auto add = [&](std::uint64_t row, std::uint64_t rows, const IndexSet& columns) {
    region.add({IndexSet::interval(row, rows), columns});
    return ++pieces <= kMaxRowPieces;
  };
  const auto add_run = [&](std::uint64_t start, std::uint64_t bytes) {
    while (bytes > 0) {
      const std::uint64_t column = start % width;
      const bool whole = column == 0 && bytes >= width;
      const std::uint64_t here = whole ? bytes / width * width : std::min(bytes, width - column);
      if (!add(start / width, whole ? here / width : 1,
               IndexSet::interval(column, whole ? width : here))) {
        return false;
      }
      start += here;
      bytes -= here;
    }
    return true;
  };
  for (const Progression& p : set.progressions()) {
    const std::uint64_t column = p.start % width;
    if (p.count > 1 && p.stride % width == 0 && column + p.block <= width) {
      region.add({*IndexSet::of(p.start / width, p.stride / width, p.count, 1),
                  IndexSet::interval(column, p.block)});
      if (++pieces > kMaxRowPieces) return std::nullopt;
      continue;
    }
    for (std::uint64_t i = 0; i < p.count;) {
      const std::uint64_t start = p.start + i * p.stride, at = start % width;
      // As many runs as the row holds whole.
      const std::uint64_t fit = at + p.block > width ? 0
                                : p.count == 1
                                    ? 1
                                    : std::min(p.count - i, (width - at - p.block) / p.stride + 1);
      if (fit > 1) {
        if (!add(start / width, 1, *IndexSet::of(at, p.stride, fit, p.block))) return std::nullopt;
        i += fit;
      } else {
        if (!add_run(start, p.block)) return std::nullopt;
        ++i;
      }
    }
  }
  region.finish();
  if (!region.regular()) return std::nullopt;
  return region.parts()[0];
}

bool has_name(const Sets& sets) {
  const std::vector<IndexSet> distinct = sets.distinct();
  std::vector<const IndexSet*> pointers;
  pointers.reserve(distinct.size());
  for (const IndexSet& set : distinct) pointers.push_back(&set);
  return name_dimension(std::move(pointers)).pattern.distribution != Distribution::kIrregular;
}

// Rows of nested lengths, innermost first, and each rank's sets along every dimension.
struct Shape {
  std::vector<std::uint64_t> widths;  // each in units of the dimension inside it
  std::vector<Sets> sets;             // the fastest dimension first
  DescribedRegions described;
  std::size_t cyclic = 0;
};

class Search {
 public:
  explicit Search(const Sets& ranks) : ranks_(ranks) {}

  std::optional<Shape> run() {
    for (std::size_t n = 1; n <= kMaxDimensions && !best_ && !exhausted(); ++n) {
      descend(ranks_, 1, n, Shape{});
    }
    return std::move(best_);
  }

  // The shape that these widths make, if it names everything.
  static std::optional<Shape> declared(const Sets& ranks,
                                       const std::vector<std::uint64_t>& widths) {
    Shape shape;
    Sets sets = ranks;
    for (const std::uint64_t width : widths) {
      Sets rows;
      if (!split(sets, width, rows, shape)) return std::nullopt;
      sets = std::move(rows);
    }
    shape.sets.push_back(std::move(sets));
    if (!describe(shape)) return std::nullopt;
    return shape;
  }

 private:
  static bool split(const Sets& sets, std::uint64_t width, Sets& rows, Shape& shape) {
    Sets columns;
    for (std::size_t r = 0; r < sets.size(); ++r) {
      if (rows_differ(sets.shape(r), sets.first(r), width)) return false;
    }
    for (std::size_t r = 0; r < sets.size(); ++r) {
      const std::optional<Product> product = in_rows(sets.at(r), width);
      if (!product) return false;
      rows.add((*product)[0]);
      columns.add((*product)[1]);
    }
    shape.widths.push_back(width);
    shape.sets.push_back(std::move(columns));
    return true;
  }

  static bool describe(Shape& shape) {
    const std::size_t n = shape.sets.size();
    Decomposition decomposition(n);
    for (std::size_t r = 0; r < shape.sets[0].size(); ++r) {
      Region region(n);
      Product product;
      for (std::size_t d = n; d-- > 0;) product.push_back(shape.sets[d].at(r));
      region.add(std::move(product));
      region.finish();
      decomposition.add(region);
    }
    shape.described = decomposition.described();
    shape.cyclic = 0;
    for (const DimensionPattern& d : shape.described.descriptor.dimensions) {
      shape.cyclic +=
          d.distribution == Distribution::kCyclic || d.distribution == Distribution::kCyclicK ? 1
                                                                                              : 0;
    }
    return !shape.described.process_grid.empty();
  }

  bool exhausted() const { return tries_ > kMaxTries || steps_ > kMaxSteps; }

  // `sets` are of rows of `inside` units each. Whether every dimension got a name, which is not
  // yet a grid. What rows of a length are does not depend on how they were reached: so what led
  // nowhere once need not be walked again, and chains of eight lengths are few steps.
  bool descend(const Sets& sets, std::uint64_t inside, std::size_t dimensions_left,
               const Shape& shape) {
    if (dimensions_left == 1) {
      if (!has_name(sets)) return false;
      Shape whole = shape;
      whole.sets.push_back(sets);
      if (describe(whole) && (!best_ || whole.cyclic < best_->cyclic)) best_ = std::move(whole);
      return true;
    }
    if (dead_ends_.contains({inside, dimensions_left})) return false;
    bool named = false;
    for (const std::uint64_t width : row_candidates(sets)) {
      const auto [edge, fresh] = suits_.try_emplace({inside, width}, true);
      if (!edge->second) continue;
      if (fresh && !suits_probes(sets, width)) {
        edge->second = false;
        continue;
      }
      tries_ += fresh ? 1 : 0;
      ++steps_;
      if (exhausted()) return named;
      Shape longer = shape;
      Sets rows;
      if (split(sets, width, rows, longer) && has_name(longer.sets.back())) {
        named = descend(rows, inside * width, dimensions_left - 1, longer) || named;
      } else {
        edge->second = false;
      }
    }
    if (!named && !exhausted()) dead_ends_.insert({inside, dimensions_left});
    return named;
  }

  static bool suits_probes(const Sets& sets, std::uint64_t width) {
    const std::size_t step = std::max<std::size_t>(1, sets.size() / kProbes);
    for (std::size_t i = 0; i < sets.size(); i += step) {
      if (rows_differ(sets.shape(i), sets.first(i), width)) return false;
    }
    for (std::size_t i = 0; i < sets.size(); i += step) {
      if (!in_rows(sets.at(i), width)) return false;
    }
    return true;
  }

  const Sets& ranks_;
  std::optional<Shape> best_;
  std::size_t tries_ = 0, steps_ = 0;
  // By the units in a row: the dimensions that it cannot be taken apart into, the lengths of rows
  // of rows that were tried, and whether they suit all ranks.
  std::set<std::pair<std::uint64_t, std::size_t>> dead_ends_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> suits_;
};

std::optional<Sets> in_elements(const Sets& ranks, std::uint64_t origin, std::uint64_t bytes) {
  Sets scaled;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::optional<IndexSet> one = ranks.at(r).in_units(origin, bytes);
    if (!one) return std::nullopt;
    scaled.add(*one);
  }
  return scaled;
}

// As the hint says, in elements and innermost first; with arrays one behind the other as a
// dimension of their own.
std::vector<std::uint64_t> declared_widths(const ShapeHint& hint, bool several) {
  std::vector<std::uint64_t> widths;
  std::uint64_t inside = hint.element_bytes;
  const auto add = [&](std::uint64_t bytes) {
    if (inside == 0 || bytes % inside != 0) return false;
    widths.push_back(bytes / inside);
    inside = bytes;
    return true;
  };
  for (std::size_t d = hint.row_bytes.size(); d-- > 0;) {
    if (!add(hint.row_bytes[d])) return {};
  }
  if (several && !add(hint.array_bytes)) return {};
  return widths;
}

std::string ambiguity_of(const std::vector<DimensionPattern>& found, std::size_t cyclic,
                         std::uint64_t element_bytes) {
  std::string text = element_bytes == 1 ? "counts are bytes; " : "";
  if (cyclic > 0) {
    text +=
        "CYCLIC(k) of whole rounds may be BLOCK columns of k in an array with one more "
        "dimension; ";
  }
  for (std::size_t d = 1; d < found.size(); ++d) {
    if (found[d - 1].distribution == Distribution::kWhole &&
        found[d].distribution == Distribution::kBlock) {
      text += "undivided rows of BLOCK columns may be shorter rows dealt out in turns; ";
      break;
    }
  }
  return text + "a dimension that nobody divides may be joined with the one before it";
}

}  // namespace

InferredShape irregular_shape(const IndexSets& ranks, std::uint64_t element_bytes) {
  InferredShape result;
  result.element_bytes = element_bytes;
  result.first_byte = ranks.least();
  result.described.ranks = static_cast<std::uint32_t>(ranks.size());
  result.described.descriptor.dimensions = {
      {Distribution::kIrregular, ranks.largest_size() / element_bytes, 1}};
  result.dims = {(ranks.end() - result.first_byte) / element_bytes};
  result.ambiguity = "no array fits these bytes";
  return result;
}

InferredShape infer_shape(const IndexSets& ranks, const ShapeHint& hint) {
  InferredShape result;
  if (ranks.empty()) return result;
  const std::uint64_t first = ranks.least();
  const bool declares = !hint.row_bytes.empty() && hint.origin <= first;
  const std::uint64_t origin = declares ? hint.origin : first;
  std::optional<Sets> sets =
      in_elements(ranks, origin, std::max<std::uint64_t>(1, hint.element_bytes));
  result.element_bytes = sets ? std::max<std::uint64_t>(1, hint.element_bytes) : 1;
  if (!sets) sets = in_elements(ranks, origin, 1);
  result.first_byte = origin;

  std::optional<Shape> shape;
  if (declares && result.element_bytes == hint.element_bytes) {
    const bool several =
        hint.array_bytes > 0 && sets->end() > hint.array_bytes / result.element_bytes;
    const std::vector<std::uint64_t> widths = declared_widths(hint, several);
    if (!widths.empty()) shape = Search::declared(*sets, widths);
    result.declared = shape.has_value();
  }
  if (!shape) {
    if (first > origin) sets = in_elements(ranks, first, result.element_bytes);
    if (!sets) {
      sets = in_elements(ranks, first, 1);
      result.element_bytes = 1;
    }
    result.first_byte = first;
    shape = Search(*sets).run();
  }
  if (!shape) return irregular_shape(ranks, result.element_bytes);
  for (std::size_t d = shape->sets.size(); d-- > 0;) {
    result.parts.push_back(std::move(shape->sets[d]));
  }
  result.described = std::move(shape->described);
  result.dims.push_back(result.parts.front().end());
  for (std::size_t d = shape->widths.size(); d-- > 0;) result.dims.push_back(shape->widths[d]);
  if (result.declared) {
    const std::uint64_t slowest = hint.row_bytes.front();
    if (result.dims.size() == hint.row_bytes.size() + 1 && slowest > 0) {
      result.dims[0] = std::max(result.dims[0], hint.array_bytes / slowest);
    }
  } else {
    result.ambiguity =
        ambiguity_of(result.described.descriptor.dimensions, shape->cyclic, result.element_bytes);
  }
  return result;
}

}  // namespace iotune::analyzer
