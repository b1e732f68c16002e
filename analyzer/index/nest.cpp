#include "analyzer/index/nest.h"

#include <algorithm>

namespace iotune::analyzer {
namespace {

__extension__ using Wide = __int128;  // of any sum over levels

bool column_within(const Nest& nest, std::int64_t first, std::int64_t NestLevel::*step,
                   std::int64_t length) {
  Wide least = first;
  Wide most = first;
  for (const NestLevel& level : nest.levels) {
    const Wide reach = Wide{level.*step} * (level.count - 1);
    (reach < 0 ? least : most) += reach;
  }
  return least >= 0 && most + length <= kMostBytes;
}

// Takes the loop out of the nest, at one of its iterations.
void fix(Nest& nest, std::size_t at, std::int64_t iteration) {
  const NestLevel& level = nest.levels[at];
  nest.start += level.stride * iteration;
  nest.position += level.position_step * iteration;
  nest.physical += level.physical_step * iteration;
  nest.slot += level.slot_step * iteration;
  nest.levels.erase(nest.levels.begin() + static_cast<std::ptrdiff_t>(at));
}

void drop_overwritten(Nest& nest) {
  for (std::size_t k = nest.levels.size(); k-- > 0;) {
    const NestLevel& level = nest.levels[k];
    if (level.count == 1) {
      fix(nest, k, 0);
    } else if (level.stride == 0 && level.position_step != 0) {
      fix(nest, k, level.position_step > 0 ? level.count - 1 : 0);
    }
  }
}

void turn_forward(Nest& nest) {
  for (NestLevel& level : nest.levels) {
    if (level.stride >= 0) continue;
    const std::int64_t last = level.count - 1;
    nest.start += level.stride * last;
    nest.position += level.position_step * last;
    nest.physical += level.physical_step * last;
    level.stride = -level.stride;
    level.position_step = -level.position_step;
    level.physical_step = -level.physical_step;
  }
}

}  // namespace

std::int64_t Nest::end() const noexcept {
  std::int64_t last = start + length;
  for (const NestLevel& level : levels) last += level.stride * (level.count - 1);
  return last;
}

std::int64_t Nest::slot_span() const noexcept {
  std::int64_t span = 1;
  for (const NestLevel& level : levels) span += level.slot_step * (level.count - 1);
  return span;
}

std::int64_t Nest::last_position() const noexcept {
  std::int64_t last = position;
  for (const NestLevel& level : levels) {
    last += std::max<std::int64_t>(0, level.position_step * (level.count - 1));
  }
  return last;
}

bool within_bounds(const Nest& nest) noexcept {
  if (nest.length < 0) return false;
  for (const NestLevel& level : nest.levels) {
    if (level.count < 1 || level.slot_step < 0) return false;
  }
  return column_within(nest, nest.start, &NestLevel::stride, nest.length) &&
         column_within(nest, nest.position, &NestLevel::position_step, 1) &&
         column_within(nest, nest.physical, &NestLevel::physical_step, nest.length) &&
         column_within(nest, nest.slot, &NestLevel::slot_step, 1);
}

bool is_normal(const Nest& nest) noexcept {
  std::int64_t span = nest.length;
  for (std::size_t k = nest.levels.size(); k-- > 0;) {
    const NestLevel& level = nest.levels[k];
    if (level.count < 2 || level.stride < span) return false;
    span += level.stride * (level.count - 1);
  }
  return nest.length > 0;
}

void join_levels(Nest& nest) {
  const auto continues = [](const NestLevel& outer, const NestLevel& inner, auto step) {
    return Wide{inner.*step} * inner.count == Wide{outer.*step};
  };
  for (std::size_t k = nest.levels.size(); k-- > 1;) {
    const NestLevel& outer = nest.levels[k - 1];
    NestLevel& inner = nest.levels[k];
    if (continues(outer, inner, &NestLevel::stride) &&
        continues(outer, inner, &NestLevel::position_step) &&
        continues(outer, inner, &NestLevel::physical_step) &&
        continues(outer, inner, &NestLevel::slot_step)) {
      inner.count *= outer.count;
      nest.levels.erase(nest.levels.begin() + static_cast<std::ptrdiff_t>(k) - 1);
    }
  }
}

bool normalise(Nest nest, std::size_t most, std::vector<Nest>& to) {
  std::vector<Nest> open;
  open.push_back(std::move(nest));
  const std::size_t before = to.size();
  while (!open.empty()) {
    Nest now = std::move(open.back());
    open.pop_back();
    if (now.length == 0) continue;
    drop_overwritten(now);
    turn_forward(now);
    std::stable_sort(now.levels.begin(), now.levels.end(),
                     [](const NestLevel& a, const NestLevel& b) { return a.stride > b.stride; });
    join_levels(now);
    std::int64_t span = now.length;
    std::size_t k = now.levels.size();
    while (k > 0 && now.levels[k - 1].stride >= span) {
      --k;
      span += now.levels[k].stride * (now.levels[k].count - 1);
    }
    if (to.size() - before + open.size() > most) return false;
    if (k == 0) {
      to.push_back(std::move(now));
      continue;
    }
    // Every parts-th iteration of this loop lies behind all that is within it.
    const NestLevel tight = now.levels[--k];
    const std::int64_t needed =
        tight.stride == 0 ? tight.count : (span + tight.stride - 1) / tight.stride;
    const std::int64_t parts = std::min(needed, tight.count);
    if (static_cast<std::size_t>(parts) > most) return false;
    for (std::int64_t part = 0; part < parts; ++part) {
      Nest split = now;
      NestLevel& level = split.levels[k];
      split.start += tight.stride * part;
      split.position += tight.position_step * part;
      split.physical += tight.physical_step * part;
      split.slot += tight.slot_step * part;
      level.count = (tight.count - part + parts - 1) / parts;
      level.stride *= parts;
      level.position_step *= parts;
      level.physical_step *= parts;
      level.slot_step *= parts;
      open.push_back(std::move(split));
    }
  }
  return true;
}

}  // namespace iotune::analyzer
