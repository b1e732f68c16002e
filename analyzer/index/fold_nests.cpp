#include "analyzer/index/fold_nests.h"

#include <algorithm>
#include <compare>
#include <tuple>

namespace iotune::analyzer {
namespace {

// Nests that may be iterations of one loop: alike but for their places and streams.
std::strong_ordering compare_shapes(const Nest& a, const Nest& b) {
  if (a.length != b.length) return a.length <=> b.length;
  if (a.levels.size() != b.levels.size()) return a.levels.size() <=> b.levels.size();
  for (std::size_t k = 0; k < a.levels.size(); ++k) {
    const NestLevel& x = a.levels[k];
    const NestLevel& y = b.levels[k];
    const auto order =
        std::tie(x.stride, x.count, x.position_step, x.physical_step, x.slot_step) <=>
        std::tie(y.stride, y.count, y.position_step, y.physical_step, y.slot_step);
    if (std::is_neq(order)) return order;
  }
  return std::strong_ordering::equal;
}

struct Step {
  std::int64_t start, position, physical;
  bool operator==(const Step&) const = default;
};

Step step_between(const Nest& from, const Nest& to) {
  return {to.start - from.start, to.position - from.position, to.physical - from.physical};
}

// Adds a level of `count` iterations, where its stride says it belongs. False, with the nest as it
// was, where accesses would overlap.
bool add_level(Nest& nest, const Step& step, std::int64_t count) {
  if (step.start <= 0 || nest.levels.size() >= kMaxNestLevels) return false;
  const auto at = std::find_if(nest.levels.begin(), nest.levels.end(),
                               [&](const NestLevel& level) { return level.stride < step.start; });
  const auto place = nest.levels.insert(at, {.stride = step.start,
                                             .count = count,
                                             .position_step = step.position,
                                             .physical_step = step.physical,
                                             .slot_step = 0});
  if (is_normal(nest)) return true;
  nest.levels.erase(place);
  return false;
}

class Folding {
 public:
  explicit Folding(SlotTable& slots) : slots_(slots) {}

  // One pass over nests of one shape, by start. True if any were folded.
  bool pass(const Nest* first, const Nest* last, std::vector<Nest>& to) {
    bool folded = false;
    while (first != last) {
      const std::size_t run = run_length(first, last);
      const bool is_loop = run > 2 || (run == 2 && tiles(*first, first[1].start - first->start));
      if (is_loop && fold_run({first, run}, slots_, to)) {
        first += run;
        folded = true;
      } else {
        to.push_back(*first++);
      }
    }
    return folded;
  }

 private:
  // How many from `first` on are in arithmetic progression. Of two that are further apart than the
  // second is from a third, the first stands alone: the others are the next row's.
  static std::size_t run_length(const Nest* first, const Nest* last) {
    const auto left = static_cast<std::size_t>(last - first);
    if (left < 2) return left;
    const Step step = step_between(first[0], first[1]);
    if (step.start == 0) return 1;
    std::size_t run = 2;
    while (run < left && step_between(first[run - 1], first[run]) == step) ++run;
    if (run == 2 && left > 2 && first[2].start - first[1].start < step.start) return 1;
    return run;
  }

  // Whether a second nest so far behind the first fills what one of its loops leaves free, or goes
  // on where one ends. Two of a shape anywhere else are a coincidence: as one nest they would span,
  // and contest, all that lies between them.
  static bool tiles(const Nest& nest, std::int64_t away) {
    std::int64_t goes_on = nest.length;
    for (std::size_t k = nest.levels.size(); k-- > 0;) {
      const NestLevel& level = nest.levels[k];
      if (away == goes_on || 2 * away == level.stride) return true;
      goes_on = level.stride * level.count;
    }
    return away == goes_on;
  }

  SlotTable& slots_;
};

}  // namespace

bool fold_run(std::span<const Nest> run, SlotTable& slots, std::vector<Nest>& to) {
  Nest folded = run[0];
  const Step step = step_between(run[0], run[1]);
  if (!add_level(folded, step, static_cast<std::int64_t>(run.size()))) return false;
  const std::int64_t slot_step = run[1].slot - run[0].slot;
  bool regular = slot_step >= 0;
  for (std::size_t i = 2; i < run.size() && regular; ++i) {
    regular = run[i].slot - run[i - 1].slot == slot_step;
  }
  NestLevel& level = *std::find_if(folded.levels.begin(), folded.levels.end(),
                                   [&](const NestLevel& l) { return l.stride == step.start; });
  if (regular) {
    level.slot_step = slot_step;
  } else {
    const std::int64_t span = run[0].slot_span();
    std::vector<std::uint32_t> streams;
    for (const Nest& one : run) {
      for (std::int64_t k = 0; k < span; ++k) streams.push_back(slots[one.slot + k]);
    }
    folded.slot = slots.slots_of(streams);
    level.slot_step = span;
  }
  join_levels(folded);
  to.push_back(std::move(folded));
  return true;
}

std::int64_t SlotTable::slot_of(std::uint32_t stream) {
  const auto [at, is_new] = alone_.try_emplace(stream, size());
  if (is_new) streams_.push_back(stream);
  return at->second;
}

std::int64_t SlotTable::slots_of(const std::vector<std::uint32_t>& streams) {
  const auto [at, is_new] = runs_.try_emplace(streams, size());
  if (is_new) streams_.insert(streams_.end(), streams.begin(), streams.end());
  return at->second;
}

void SlotTable::compact(std::vector<Nest>& nests) {
  std::vector<bool> used(streams_.size());
  for (const Nest& nest : nests) {
    const auto from = used.begin() + nest.slot;
    std::fill(from, from + nest.slot_span(), true);
  }
  std::vector<std::int64_t> renumbered(streams_.size());
  std::vector<std::uint32_t> kept;
  for (std::size_t slot = 0; slot < streams_.size(); ++slot) {
    renumbered[slot] = static_cast<std::int64_t>(kept.size());
    if (used[slot]) kept.push_back(streams_[slot]);
  }
  for (Nest& nest : nests) nest.slot = renumbered[static_cast<std::size_t>(nest.slot)];
  streams_ = std::move(kept);
  alone_.clear();
  runs_.clear();
}

void fold_nests(std::vector<Nest>& nests, SlotTable& slots) {
  const auto by_shape_and_start = [](const Nest& a, const Nest& b) {
    const auto order = compare_shapes(a, b);
    if (std::is_neq(order)) return std::is_lt(order);
    return std::tie(a.start, a.position, a.slot) < std::tie(b.start, b.position, b.slot);
  };
  bool folded = nests.size() > 1;
  while (folded) {
    folded = false;
    std::sort(nests.begin(), nests.end(), by_shape_and_start);
    std::vector<Nest> next;
    next.reserve(nests.size());
    Folding folding(slots);
    const Nest* const end = nests.data() + nests.size();
    for (const Nest* first = nests.data(); first != end;) {
      const Nest* last = first + 1;
      while (last != end && std::is_eq(compare_shapes(*first, *last))) ++last;
      folded = folding.pass(first, last, next) || folded;
      first = last;
    }
    nests = std::move(next);
  }
}

}  // namespace iotune::analyzer
