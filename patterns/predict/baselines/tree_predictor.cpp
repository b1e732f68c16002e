#include "patterns/predict/baselines/tree_predictor.h"

#include <algorithm>
#include <cstring>

namespace iotune::patterns {
namespace {

constexpr unsigned kLevels = 4;
constexpr std::uint32_t kNone = 0xffffffff;

// One level: deltas of its values, and their units. The starts of the units are the values of the
// level above.
struct Level {
  std::span<const std::int64_t> deltas;
  std::span<const Unit> units;
};

struct Tree {
  Level levels[kLevels];
  unsigned count = 0;
};

bool same_deltas(const Level& level, const Unit& a, const Unit& b) noexcept {
  return a.size == b.size &&
         std::memcmp(level.deltas.data() + a.first, level.deltas.data() + b.first,
                     a.size * sizeof(std::int64_t)) == 0;
}

// The delta, by its number, that is like the one to come after the first `deltas` of a level.
// kNone where no unit of the level above says so.
std::uint32_t next_like(const Tree& tree, unsigned number, std::uint32_t deltas) noexcept {
  if (number >= tree.count || deltas == 0) return kNone;
  const Level& level = tree.levels[number];
  std::uint32_t before = 0;  // deltas covered by the units before the current one
  std::uint32_t current = 0;
  while (current < level.units.size() && before + level.units[current].covered() < deltas) {
    before += level.units[current++].covered();
  }
  if (current == level.units.size()) return kNone;  // asked for more than the level has
  const Unit& unit = level.units[current];
  const std::uint32_t done = deltas - before;
  const std::uint32_t goes_on = unit.first + done % unit.size;
  const auto known = [&](std::uint32_t units) noexcept {
    if (units == 0) return kNone;
    const std::uint32_t like = next_like(tree, number + 1, units);
    if (like != kNone || number + 1 >= tree.count) return like;
    // The level above begins to repeat itself, or goes on with its last unit.
    const Level& above = tree.levels[number + 1];
    const std::uint32_t covered =
        std::min<std::uint32_t>(units, static_cast<std::uint32_t>(above.deltas.size()));
    std::uint32_t passed = 0;
    std::uint32_t begin = 0;  // of the last unit that repeats itself
    const Unit* repeated = nullptr;
    for (const Unit& one : above.units) {
      if (passed >= covered) break;
      if (one.repeats > 1) {
        repeated = &one;
        begin = passed;
      }
      passed += one.covered();
    }
    if (repeated == nullptr) return kNone;
    const auto in_turn = [&](std::uint32_t delta) noexcept {
      return repeated->first + (delta - begin) % repeated->size;
    };
    // What was begun of another repetition stands there as units of its own.
    for (std::uint32_t i = begin + repeated->covered(); i < covered; ++i) {
      if (above.deltas[i] != above.deltas[in_turn(i)]) return kNone;
    }
    return in_turn(units);
  };
  // Unit k begins at value k of the level above, and its extent is delta k there.
  const std::uint32_t like = known(current);
  if (like == kNone || like >= current || !same_deltas(level, level.units[like], unit))
    return kNone;
  if (done < level.units[like].covered()) return goes_on;
  const std::uint32_t following = known(current + 1);
  if (following == kNone || following > current) return kNone;
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < following; ++i) first += level.units[i].covered();
  return first;
}

}  // namespace

void TreeColumn::observe(std::int64_t value) noexcept {
  if (count_ == kRecent) {
    count_ = kRecent - kRecent / 4;
    std::memmove(recent_, recent_ + kRecent / 4, sizeof(std::int64_t) * count_);
  }
  recent_[count_++] = value;
  unit_.observe(value);
}

bool TreeColumn::next(std::int64_t& value) const noexcept {
  if (count_ < 2) return false;
  std::int64_t deltas[kLevels][kRecent];
  Unit units[kLevels][kRecent];
  Tree tree;
  std::uint32_t n = count_ - 1;
  for (std::uint32_t i = 0; i < n; ++i) deltas[0][i] = minus(recent_[i + 1], recent_[i]);
  for (unsigned k = 0; k < kLevels && n > 0; ++k) {
    const std::size_t found = find_units({deltas[k], n}, {units[k], n});
    tree.levels[k] = {{deltas[k], n}, {units[k], found}};
    tree.count = k + 1;
    if (found < 2 || k + 1 == kLevels) break;
    // The way from one unit's start to the next one's; the last one may not have ended.
    std::uint32_t at = 0;
    n = static_cast<std::uint32_t>(found - 1);
    for (std::uint32_t u = 0; u < n; ++u) {
      std::int64_t way = 0;
      for (std::uint32_t i = 0; i < units[k][u].covered(); ++i) way = plus(way, deltas[k][at++]);
      deltas[k + 1][u] = way;
    }
  }
  const std::uint32_t like = next_like(tree, 0, count_ - 1);
  if (like == kNone) return unit_.predict(1, value);
  value = plus(recent_[count_ - 1], deltas[0][like]);
  return true;
}

void TreePredictor::observe(Extent access) noexcept {
  rate_.saw(known_ && access == next_);
  offsets_.observe(access.offset);
  lengths_.observe(access.length);
  known_ = offsets_.next(next_.offset) && lengths_.next(next_.length);
}

unsigned TreePredictor::predict(std::span<Prediction> out) const noexcept {
  if (!known_) return 0;
  Confidence confidence(rate_.share());
  TreeColumn offsets = offsets_;
  TreeColumn lengths = lengths_;
  Extent next = next_;
  for (unsigned made = 0; made < out.size(); ++made) {
    out[made] = {next, confidence.next()};
    if (made + 1 == out.size()) break;
    offsets.observe(next.offset);
    lengths.observe(next.length);
    if (!offsets.next(next.offset) || !lengths.next(next.length)) return made + 1;
  }
  return static_cast<unsigned>(out.size());
}

}  // namespace iotune::patterns
