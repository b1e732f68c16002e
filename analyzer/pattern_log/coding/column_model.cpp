#include "analyzer/pattern_log/coding/column_model.h"

#include <algorithm>

#include "patterns/exact_division.h"

namespace iotune::analyzer::pattern_log {
namespace {

constexpr std::size_t kMostDigits = 9;
constexpr std::size_t kMostKnown = 64;

// How many rows from the first on are in even steps.
std::size_t even_rows(std::span<const std::uint64_t> values, std::size_t unit) {
  const std::uint64_t step = values[unit] - values[0];
  std::size_t rows = 2;
  while (rows * unit < values.size() && values[rows * unit] - values[(rows - 1) * unit] == step) {
    ++rows;
  }
  return rows;
}

std::uint64_t common_unit(std::span<const std::uint64_t> values) {
  std::uint64_t unit = 0;
  for (const std::uint64_t value : values) {
    const std::uint64_t size = signed_of(value) < 0 ? 0 - value : value;
    unit = patterns::greatest_divisor(size, unit);
    if (unit == 1) return 1;
  }
  return unit;
}

}  // namespace

std::optional<GridColumn> find_grid(std::span<const std::uint64_t> values) {
  GridColumn grid;
  // `unit` rows are explained by the digits so far.
  std::size_t unit = 1;
  while (unit < values.size()) {
    const std::size_t rows = values.size() / unit;
    if (grid.counts.size() == kMostDigits) return std::nullopt;
    std::size_t count = even_rows(values, unit);
    while (rows % count != 0) --count;
    if (count < 2) return std::nullopt;
    grid.counts.push_back(count);
    grid.strides.push_back(values[unit] - values[0]);
    unit *= count;
  }
  if (grid.counts.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t rest = i, value = values[0];
    for (std::size_t d = 0; d < grid.counts.size(); ++d) {
      value += rest % grid.counts[d] * grid.strides[d];
      rest /= grid.counts[d];
    }
    if (value != values[i]) return std::nullopt;
  }
  return grid;
}

std::optional<KnownColumns::Multiple> KnownColumns::find(
    std::span<const std::uint64_t> values) const {
  for (std::uint32_t c = 0; c < columns_.size(); ++c) {
    const std::vector<std::uint64_t>& known = columns_[c];
    std::size_t at = 1;
    while (at < known.size() && known[at] == 0) ++at;
    if (at == known.size()) continue;
    const std::int64_t divisor = signed_of(known[at]);
    // INT64_MIN / -1 is not defined.
    const std::uint64_t factor =
        divisor == -1 ? 0 - values[at] : unsigned_of(signed_of(values[at]) / divisor);
    bool multiple = true;
    for (std::size_t i = 0; i < known.size() && multiple; ++i) {
      multiple = known[i] * factor == values[i];
    }
    if (multiple) return Multiple{c, factor};
  }
  return std::nullopt;
}

void KnownColumns::add(std::span<const std::uint64_t> values) {
  if (columns_.size() == kMostKnown) return;
  const std::uint64_t unit = common_unit(values);
  std::vector<std::uint64_t> column(values.begin(), values.end());
  if (unit > 1) {
    for (std::uint64_t& value : column) {
      const bool negative = signed_of(value) < 0;
      const std::uint64_t size = (negative ? 0 - value : value) / unit;
      value = negative ? 0 - size : size;
    }
  }
  columns_.push_back(std::move(column));
}

TermList ColumnModel::terms_of(std::span<const Extent> accesses, Shapes& shapes) {
  Shapes found_shapes;
  TermList found;
  TermFinder finder;
  finder.add(accesses, found_shapes, found);
  finder.finish(found_shapes, found);
  std::vector<std::uint32_t> numbers;
  return renumbered(found_shapes, found, shapes, numbers);
}

}  // namespace iotune::analyzer::pattern_log
