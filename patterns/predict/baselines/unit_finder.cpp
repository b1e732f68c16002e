#include "patterns/predict/baselines/unit_finder.h"

#include <algorithm>
#include <cstring>

namespace iotune::patterns {
namespace {

bool equal(const std::int64_t* a, const std::int64_t* b, std::size_t n) noexcept {
  return std::memcmp(a, b, n * sizeof *a) == 0;
}

// The longest stretch that ends before `at` and is repeated from there.
unsigned longest_repeat(std::span<const std::int64_t> deltas, std::size_t at,
                        unsigned window) noexcept {
  auto length = static_cast<unsigned>(std::min({std::size_t{window}, at, deltas.size() - at}));
  for (; length > 0; --length) {
    const std::int64_t* here = deltas.data() + at;
    if (here[-1] == here[length - 1] && equal(here - length, here, length)) return length;
  }
  return 0;
}

// How many units on top cover exactly `length` deltas; 0: none do.
std::size_t covering(std::span<const Unit> units, unsigned length) noexcept {
  std::uint32_t covered = 0;
  for (std::size_t taken = 0; taken < units.size() && covered < length;) {
    ++taken;
    covered += units[units.size() - taken].covered();
    if (covered == length) return taken;
  }
  return 0;
}

bool all_one_value(std::span<const std::int64_t> deltas, const Unit& unit) noexcept {
  for (std::uint32_t i = 1; i < unit.size; ++i) {
    if (deltas[unit.first + i] != deltas[unit.first]) return false;
  }
  return true;
}

}  // namespace

std::size_t find_units(std::span<const std::int64_t> deltas, std::span<Unit> units,
                       unsigned window) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < deltas.size();) {
    const auto here = static_cast<std::uint32_t>(at);
    const unsigned length = longest_repeat(deltas, at, window);
    const std::size_t popped = length == 0 ? 0 : covering(units.first(count), length);
    if (popped > 0) {
      count -= popped;
      units[count++] = {here, length, 2};
      at += length;
    } else if (length > 0 && length % units[count - 1].size == 0 &&
               length <= units[count - 1].covered()) {
      units[count - 1].repeats += length / units[count - 1].size;
      at += length;
    } else {
      units[count++] = {here, 1, 1};
      at += 1;
    }
    Unit& top = units[count - 1];
    if (top.size > 1 && all_one_value(deltas, top)) top = {top.first, 1, top.covered()};
  }
  return count;
}

}  // namespace iotune::patterns
