#include "analyzer/pattern_log/coding/digit_tables.h"

#include <algorithm>

namespace iotune::analyzer::pattern_log {
namespace {

constexpr std::size_t kMostTables = 16;
constexpr std::size_t kMostRows = std::size_t{1} << 20U;
// Rows to a number of the tables, at least.
constexpr std::size_t kSaves = 2;

bool is_sum(std::span<const std::uint64_t> values, std::size_t count) {
  for (std::size_t begin = 0; begin < values.size(); begin += count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (values[begin + i] != values[begin] + values[i]) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<DigitTables> find_tables(std::span<const std::uint64_t> values, std::uint64_t count) {
  const std::size_t rows = values.size();
  if (rows < 4 || rows > kMostRows) return std::nullopt;
  std::size_t best = 0;
  const auto try_one = [&](std::size_t low) {
    const std::size_t size = low + rows / low;
    if (size * kSaves > rows || (best != 0 && size >= best + rows / best)) return;
    if (is_sum(values, low)) best = low;
  };
  if (count > 1 && count < rows && rows % count == 0) try_one(static_cast<std::size_t>(count));
  for (std::size_t low = 2; low * low <= rows && best == 0; ++low) {
    if (rows % low != 0) continue;
    try_one(low);
    try_one(rows / low);
  }
  if (best == 0) return std::nullopt;
  DigitTables tables;
  tables.low.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(best));
  for (std::size_t i = 0; i < rows; i += best) tables.high.push_back(values[i]);
  return tables;
}

void TableModel::add(std::span<const std::uint64_t> table) {
  Known known;
  if (tables_.size() == kMostTables || kind_of(table, known) != Kind::kNew) return;
  tables_.push_back({{table.begin(), table.end()}, 0, 0});
}

TableModel::Kind TableModel::kind_of(std::span<const std::uint64_t> table, Known& known) const {
  if (std::all_of(table.begin(), table.end(), [](std::uint64_t value) { return value == 0; })) {
    return Kind::kZero;
  }
  for (std::uint64_t back = 0; back < tables_.size(); ++back) {
    const Table& like = tables_[tables_.size() - 1 - back];
    if (like.values.size() != table.size()) continue;
    for (std::uint64_t shift = 0; shift < table.size(); ++shift) {
      std::size_t i = 0;
      while (i < table.size() && table[i] == like.shifted(i, shift)) ++i;
      if (i < table.size()) continue;
      known = {back, shift};
      return Kind::kShifted;
    }
  }
  return Kind::kNew;
}

}  // namespace iotune::analyzer::pattern_log
