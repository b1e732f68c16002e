#include "analyzer/baselines/he2013/unit.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "patterns/predict/baselines/unit_finder.h"

namespace iotune::he2013 {
namespace {

using Wide = __int128;

std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::uint64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

// Of a single value on top, whose delta leads to the next unit.
void drop_unused_delta(std::vector<Unit>& units) {
  if (units.empty() || units.back().count != 1) return;
  units.back().deltas.clear();
  units.back().repeats = 0;
}

}  // namespace

std::int64_t Unit::stride() const noexcept {
  std::int64_t sum = 0;
  for (const std::int64_t delta : deltas) sum = plus(sum, delta);
  return sum;
}

std::int64_t Unit::value(std::uint64_t position) const noexcept {
  if (deltas.empty()) return start;
  std::int64_t value = plus(start, times(stride(), position / deltas.size()));
  for (std::size_t k = 0; k < position % deltas.size(); ++k) value = plus(value, deltas[k]);
  return value;
}

std::string Unit::text() const {
  // By += alone: GCC 12 warns of "literal" + string (its bug 105329).
  std::string text = "[";
  text += std::to_string(start);
  if (!deltas.empty()) {
    const char* before = ",(";
    for (const std::int64_t delta : deltas) {
      text += before;
      text += std::to_string(delta);
      before = ",";
    }
    text += ")^";
    text += std::to_string(repeats);
  }
  text += "]";
  return text;
}

std::vector<Unit> find_units(std::span<const std::int64_t> values, unsigned window) {
  if (values.empty()) return {};
  std::vector<std::int64_t> deltas(values.size() - 1);
  for (std::size_t k = 0; k < deltas.size(); ++k) deltas[k] = minus(values[k + 1], values[k]);

  // Delta k leads from value k to value k + 1, so a run of deltas has the values at its own
  // indices. A delta that repeats nothing leads from the unit before it to the one behind it: its
  // value is that unit's own last one (the |d|·r + 1 values of the paper's text).
  std::vector<Unit> units;
  const auto add_lone_value = [&](std::size_t k) {
    if (!units.empty()) {
      Unit& below = units.back();
      if (!below.deltas.empty() && below.count == below.deltas.size() * below.repeats) {
        ++below.count;
        return;
      }
    }
    units.push_back({values[k], {}, 0, 1});
    if (k < deltas.size()) {
      units.back().deltas.push_back(deltas[k]);
      units.back().repeats = 1;
    }
  };
  std::vector<patterns::Unit> runs(deltas.size());
  runs.resize(patterns::find_units(deltas, runs, window));
  std::size_t at = 0;
  for (const patterns::Unit& run : runs) {
    const std::size_t first = std::exchange(at, at + run.covered());
    if (run.covered() == 1) {
      add_lone_value(first);
      continue;
    }
    drop_unused_delta(units);
    Unit unit{values[first], {}, run.repeats, run.covered()};
    const auto from = deltas.begin() + run.first;
    unit.deltas.assign(from, from + run.size);
    units.push_back(std::move(unit));
  }
  add_lone_value(values.size() - 1);
  return units;
}

std::vector<std::int64_t> expand(std::span<const Unit> units) {
  std::vector<std::int64_t> values;
  values.reserve(count_of(units));
  for (const Unit& unit : units) {
    std::int64_t value = unit.start;
    std::size_t k = 0;
    for (std::uint64_t left = unit.count; left > 0; --left) {
      values.push_back(value);
      if (unit.deltas.empty()) continue;
      value = plus(value, unit.deltas[k]);
      k = k + 1 == unit.deltas.size() ? 0 : k + 1;
    }
  }
  return values;
}

std::int64_t value_at(std::span<const Unit> units, std::uint64_t position) {
  for (const Unit& unit : units) {
    if (position < unit.count) return unit.value(position);
    position -= unit.count;
  }
  throw std::out_of_range("he2013: no value at this position");
}

std::uint64_t occurrences(std::span<const Unit> units, std::uint64_t positions,
                          std::int64_t value) {
  std::uint64_t found = 0;
  for (const Unit& unit : units) {
    if (positions == 0) break;
    const std::uint64_t count = std::min(unit.count, positions);
    positions -= count;
    const std::uint64_t columns = std::max<std::uint64_t>(unit.deltas.size(), 1);
    const std::int64_t stride = unit.stride();
    for (std::uint64_t column = 0; column < std::min(columns, count); ++column) {
      const std::uint64_t rows = (count - column - 1) / columns + 1;
      // 128 bits: the difference of two values may not fit into 64.
      const Wide away = Wide{value} - unit.value(column);
      if (stride == 0) {
        found += away == 0 ? rows : 0;
      } else if (away % stride == 0 && away / stride >= 0 && away / stride < Wide{rows}) {
        ++found;
      }
    }
  }
  return found;
}

std::uint64_t count_of(std::span<const Unit> units) noexcept {
  std::uint64_t count = 0;
  for (const Unit& unit : units) count += unit.count;
  return count;
}

}  // namespace iotune::he2013
