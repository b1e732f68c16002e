#include "gather/held/boundaries.h"

#include <algorithm>
#include <cstddef>

#include "gather/held/coverage.h"

namespace iotune::gather {
namespace {

constexpr int kCellsOfTable = Boundaries::kCells / Boundaries::kTables;

// In one table after the other.
int cell_of(std::int64_t offset, int table) noexcept {
  // Another mark than the one that is added.
  const std::uint64_t word = mark(~offset) >> (21 * table);
  return table * kCellsOfTable + static_cast<int>(word % kCellsOfTable);
}

}  // namespace

void Boundaries::step(std::int64_t offset, std::int64_t up) noexcept {
  const auto steps = static_cast<std::uint64_t>(up);
  for (int table = 0; table < kTables; ++table) {
    std::uint64_t* const cell = words_.data() + 3 * cell_of(offset, table);
    cell[0] += steps;
    cell[1] += steps * static_cast<std::uint64_t>(offset);
    cell[2] += steps * mark(offset);
  }
}

void Boundaries::add(const Ascending& pieces) noexcept {
  for (const Run& run : pieces.runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t offset = run.offset + i * run.stride;
      step(offset, 1);
      step(offset + run.bytes, -1);
    }
  }
}

std::span<const Range> Boundaries::covered_once() noexcept {
  std::size_t found = 0;
  for (bool goes_on = true; goes_on && found < ends_.size();) {
    goes_on = false;
    for (int cell = 0; cell < kCells && found < ends_.size(); ++cell) {
      const std::uint64_t* const words = words_.data() + 3 * cell;
      const auto steps = static_cast<std::int64_t>(words[0]);
      if (steps == 0) continue;
      const std::int64_t offset = static_cast<std::int64_t>(words[1]) / steps;
      const bool alone = words[0] * static_cast<std::uint64_t>(offset) == words[1] &&
                         words[0] * mark(offset) == words[2] &&
                         cell_of(offset, cell / kCellsOfTable) == cell;
      if (!alone) continue;
      ends_[found++] = {offset, steps};
      step(offset, -steps);
      goes_on = true;
    }
  }
  const bool named_all =
      std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  words_.fill(0);
  if (!named_all) return {};
  std::sort(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(found),
            [](const End& a, const End& b) { return a.offset < b.offset; });
  std::size_t used = 0;
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < found; ++i) {
    covered += ends_[i].steps;
    if (covered < 0 || (i + 1 == found && covered != 0)) return {};
    if (covered == 1) once_[used++] = {ends_[i].offset, ends_[i + 1].offset};
  }
  return {once_.data(), used};
}

}  // namespace iotune::gather
