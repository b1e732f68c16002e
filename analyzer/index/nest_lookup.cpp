#include "analyzer/index/nest_lookup.h"

#include <algorithm>
#include <tuple>

namespace iotune::analyzer {

NestLookup::Divisor::Divisor(std::int64_t value)
    : stride(static_cast<std::uint64_t>(value)),
      // Rounded down, so that a quotient is one too small at most.
      inverse(value == 1 ? UINT64_MAX
                         : static_cast<std::uint64_t>((static_cast<unsigned __int128>(1) << 64U) /
                                                      stride)) {}

bool NestLookup::hit(std::uint32_t number, std::int64_t offset, NestHit& hit) const noexcept {
  const StoredNest& nest = nests_[number];
  if (offset < nest.start || offset >= nest.end) return false;
  auto rest = static_cast<std::uint64_t>(offset - nest.start);
  hit = {number, offset, nest.length, nest.position, nest.physical, nest.slot};
  const Level* level = levels_.data() + nest.first_level;
  for (const Level* const end = level + nest.levels; level != end; ++level) {
    const auto i = static_cast<std::int64_t>(level->divisor.divide(rest, rest));
    if (i >= level->steps.count) return false;
    hit.position += level->steps.position_step * i;
    hit.physical += level->steps.physical_step * i;
    hit.slot += level->steps.slot_step * i;
  }
  hit.start -= static_cast<std::int64_t>(rest);
  return rest < static_cast<std::uint64_t>(nest.length);
}

std::int64_t NestLookup::nest_next(std::uint32_t number, std::int64_t from) const noexcept {
  const StoredNest& nest = nests_[number];
  if (from <= nest.start) return nest.start;
  if (from > nest.end - nest.length) return kNoStart;
  // The last access that begins before `from`, and then the one after it.
  auto rest = static_cast<std::uint64_t>(from - 1 - nest.start);
  std::int64_t iteration[kMaxNestLevels];
  const Level* const levels = levels_.data() + nest.first_level;
  for (unsigned k = 0; k < nest.levels; ++k) {
    const auto before = rest;
    iteration[k] = static_cast<std::int64_t>(levels[k].divisor.divide(before, rest));
    if (iteration[k] >= levels[k].steps.count) {
      iteration[k] = levels[k].steps.count - 1;
      rest = before - static_cast<std::uint64_t>(iteration[k]) * levels[k].divisor.stride;
    }
  }
  unsigned k = nest.levels;
  while (k > 0 && iteration[k - 1] == levels[k - 1].steps.count - 1) iteration[--k] = 0;
  if (k == 0) return kNoStart;
  ++iteration[k - 1];
  std::int64_t start = nest.start;
  for (k = 0; k < nest.levels; ++k) start += levels[k].steps.stride * iteration[k];
  return start;
}

namespace {

// How many of these, which ascend, are not above `at`.
std::uint32_t count_until(const std::int64_t* values, std::uint32_t count, std::int64_t at) {
  const std::int64_t* first = values;
  while (count > 0) {
    const std::uint32_t half = count / 2;
    // Without a branch: which half it is cannot be predicted.
    const bool upper = first[half] <= at;
    first += upper ? half + 1 : 0;
    count = upper ? count - half - 1 : half;
  }
  return static_cast<std::uint32_t>(first - values);
}

}  // namespace

std::uint32_t NestLookup::first_above(const Node& node, std::int64_t at) const noexcept {
  const std::int64_t* const lows = lows_.data() + node.first_item;
  if (node.items <= kSampled) return node.first_item + count_until(lows, node.items, at);
  const std::uint32_t samples = (node.items + kSampled - 1) / kSampled;
  const std::uint32_t above = count_until(samples_.data() + node.first_sample, samples, at);
  if (above == 0) return node.first_item;
  const std::uint32_t skipped = (above - 1) * kSampled;
  const std::uint32_t left = std::min(kSampled, node.items - skipped);
  return node.first_item + skipped + count_until(lows + skipped, left, at);
}

// The first item at `from` or behind it, of the subtree [first, last), whose latest access is not
// before `since`; `last` where there is none.
std::uint32_t NestLookup::next_later(std::uint32_t first, std::uint32_t last, std::uint32_t from,
                                     std::int64_t since) const noexcept {
  if (first == last || from >= last) return last;
  const std::uint32_t middle = first + (last - first) / 2;
  if (items_[middle].latest_of_subtree < since) return last;
  if (from < middle) {
    const std::uint32_t left = next_later(first, middle, from, since);
    if (left != middle) return left;
  }
  if (from <= middle && items_[middle].latest >= since) return middle;
  return next_later(middle + 1, last, from, since);
}

std::int64_t NestLookup::next_start(std::int64_t from, std::int64_t since,
                                    std::int64_t limit) const {
  Search search{from, since, limit};
  if (nodes_.empty()) return kNoStart;
  const Node& root = nodes_[0];
  const Window always{kNoStart, kNoStart};
  items_at(root, from, [&](const Item& item) { item_next(item, from, always, search); });
  const std::uint32_t end = root.first_item + root.items;
  std::uint32_t i = first_above(root, from);
  // Where any time will do, the next item is not looked for.
  const auto later = [&](std::uint32_t at) {
    return since == INT64_MIN ? at : next_later(root.first_item, end, at, since);
  };
  for (i = later(i); i != end && lows_[i] < search.best; i = later(i + 1)) {
    item_next(items_[i], from, always, search);
  }
  return search.best < limit ? search.best : kNoStart;
}

// `at` is where search.from lies in the offsets of the item's node, before the item or in it.
void NestLookup::item_next(const Item& item, std::int64_t at, const Window& window,
                           Search& search) const {
  if (item.latest < search.since) return;
  if (item.is_comb) {
    comb_next(combs_[item.index], at, window, search);
  } else {
    search.best = std::min(search.best, nest_next(item.index, search.from));
  }
}

// Looks at items in the order in which they can begin, and stops at the first that cannot begin
// before the best so far. Nests answer exactly, for all of the file; only the order is by modulus.
void NestLookup::comb_next(const Comb& comb, std::int64_t at, const Window& window,
                           Search& search) const {
  const auto period = static_cast<std::int64_t>(comb.divisor.stride);
  const std::int64_t rest = comb.divisor.rest(at - comb.base);
  const Node& node = nodes_[comb.node];
  const auto window_of = [&](const Item& item, std::int64_t here) {
    const std::int64_t next = search.from + (item.low + period - here);
    const std::int64_t until = std::min(search.from + (item.high - here), next);
    return until <= window.until ? Window{until, std::min(next, window.resume)} : window;
  };
  const auto within = [&](std::int64_t here) {
    items_at(node, here,
             [&](const Item& item) { item_next(item, here, window_of(item, here), search); });
  };
  within(rest);
  if (comb.wraps) within(rest + period);
  const std::uint32_t end = node.first_item + node.items;
  std::uint32_t i = first_above(node, rest);
  for (std::uint32_t turn = 0; turn < node.items; ++turn, ++i) {
    if (i >= end) i = node.first_item;
    const Item& item = items_[i];
    const std::int64_t away = item.low > rest ? item.low - rest : item.low + period - rest;
    const bool known = search.from + away < window.until;
    if ((known ? search.from + away : window.resume) >= search.best) return;
    if (item.is_comb && !known) {
      // Where it begins next is not known from here: no order among its items either.
      comb_next(combs_[item.index], item.low, {search.from, search.from}, search);
    } else {
      item_next(item, item.low - away, window_of(item, item.low - away), search);
    }
  }
}

bool NestLookup::any_contested() const {
  return std::any_of(nests_.begin(), nests_.end(),
                     [](const StoredNest& nest) { return nest.contested; });
}

Nest NestLookup::nest(std::uint32_t number) const {
  const StoredNest& stored = nests_[number];
  Nest nest{stored.start, stored.length, stored.position, stored.physical, stored.slot, {}};
  for (unsigned k = 0; k < stored.levels; ++k) {
    nest.levels.push_back(levels_[stored.first_level + k].steps);
  }
  return nest;
}

std::size_t NestLookup::memory_bytes() const noexcept {
  return nests_.capacity() * sizeof(StoredNest) + levels_.capacity() * sizeof(Level) +
         items_.capacity() * sizeof(Item) +
         (lows_.capacity() + samples_.capacity()) * sizeof(std::int64_t) +
         nodes_.capacity() * sizeof(Node) + combs_.capacity() * sizeof(Comb);
}

}  // namespace iotune::analyzer
