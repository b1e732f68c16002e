// How NestLookup's nodes and combs come from nests.
#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/index/nest_lookup.h"

namespace iotune::analyzer {
namespace {

struct LevelsOrder {
  static auto tied(const NestLevel& level) {
    return std::tie(level.stride, level.count, level.position_step, level.physical_step,
                    level.slot_step);
  }
  bool operator()(const std::vector<NestLevel>& a, const std::vector<NestLevel>& b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const NestLevel& x, const NestLevel& y) { return tied(x) < tied(y); });
  }
};

}  // namespace

NestLookup::NestLookup(const std::vector<Nest>& nests, const std::vector<std::int64_t>& latest) {
  if (nests.empty()) return;
  std::map<std::vector<NestLevel>, std::uint32_t, LevelsOrder> known;
  std::vector<Bounds> bounds;
  nests_.reserve(nests.size());
  bounds.reserve(nests.size());
  for (std::size_t i = 0; i < nests.size(); ++i) {
    const Nest& nest = nests[i];
    const auto [at, is_new] =
        known.try_emplace(nest.levels, static_cast<std::uint32_t>(levels_.size()));
    if (is_new) {
      for (const NestLevel& level : nest.levels) levels_.push_back({Divisor(level.stride), level});
    }
    nests_.push_back({.start = nest.start,
                      .end = nest.end(),
                      .length = nest.length,
                      .position = nest.position,
                      .physical = nest.physical,
                      .latest = latest[i],
                      .slot = static_cast<std::uint32_t>(nest.slot),
                      .first_level = at->second,
                      .levels = static_cast<std::uint8_t>(nest.levels.size()),
                      .contested = false});
    bounds.push_back({nest.start, nest.end(), static_cast<std::uint32_t>(i)});
  }
  build_node(std::move(bounds), 0, 0);
  levels_.shrink_to_fit();
  items_.shrink_to_fit();
  lows_.shrink_to_fit();
  samples_.shrink_to_fit();
  nodes_.shrink_to_fit();
  combs_.shrink_to_fit();
}

// Nests whose outermost `level` loops are taken off already. `period` is the stride that offsets
// were taken modulo, or 0.
std::uint32_t NestLookup::build_node(std::vector<Bounds> bounds, unsigned level,
                                     std::int64_t period) {
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  const auto stride = [&](const Bounds& b) -> std::int64_t {
    const StoredNest& nest = nests_[b.nest];
    return level < nest.levels ? levels_[nest.first_level + level].steps.stride : 0;
  };
  std::sort(bounds.begin(), bounds.end(), [&](const Bounds& a, const Bounds& b) {
    return std::tuple(stride(a), a.low, a.nest) < std::tuple(stride(b), b.low, b.nest);
  });
  std::vector<Item> items;
  const Bounds* const end = bounds.data() + bounds.size();
  for (const Bounds* first = bounds.data(); first != end;) {
    const Bounds* last = first + 1;
    const std::int64_t shared = stride(*first);
    std::int64_t high = first->high;
    while (shared != 0 && last != end && stride(*last) == shared && last->low < high) {
      high = std::max(high, last->high);
      ++last;
    }
    if (last - first > 1) {
      items.push_back(comb_item(first, last, level));
    } else {
      items.push_back(
          {first->low, first->high, 0, nests_[first->nest].latest, 0, first->nest, false});
    }
    first = last;
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.low < b.low; });
  mark_contested(items, period);
  Node node{static_cast<std::uint32_t>(items_.size()), static_cast<std::uint32_t>(items.size()),
            static_cast<std::uint32_t>(samples_.size()), false};
  std::int64_t reach = INT64_MIN;
  for (const Item& item : items) {
    node.overlapping = node.overlapping || item.low < reach;
    reach = std::max(reach, item.high);
    items_.push_back(item);
    lows_.push_back(item.low);
  }
  if (node.items > kSampled) {
    for (std::uint32_t i = 0; i < node.items; i += kSampled) samples_.push_back(items[i].low);
  }
  finish_subtree(node.first_item, node.first_item + node.items);
  nodes_[number] = node;
  return number;
}

NestLookup::Item NestLookup::comb_item(const Bounds* first, const Bounds* last, unsigned level) {
  const StoredNest& any = nests_[first->nest];
  const NestLevel& loop = levels_[any.first_level + level].steps;
  Comb comb{first->low, Divisor(loop.stride), 0, false};
  Item item{first->low, first->high, 0, INT64_MIN, 0, 0, true};
  std::vector<Bounds> inner;
  for (const Bounds* b = first; b != last; ++b) {
    const StoredNest& nest = nests_[b->nest];
    const NestLevel& own = levels_[nest.first_level + level].steps;
    const std::int64_t low = comb.divisor.rest(b->low - comb.base);
    const std::int64_t high = low + (b->high - b->low) - own.stride * (own.count - 1);
    comb.wraps = comb.wraps || high > own.stride;
    inner.push_back({low, high, b->nest});
    item.high = std::max(item.high, b->high);
    item.latest = std::max(item.latest, nest.latest);
  }
  comb.node = build_node(std::move(inner), level + 1, loop.stride);
  item.index = static_cast<std::uint32_t>(combs_.size());
  combs_.push_back(comb);
  return item;
}

void NestLookup::mark_contested(std::vector<Item>& items, std::int64_t period) {
  std::int64_t most = INT64_MIN;
  for (const Item& item : items) most = std::max(most, item.high);
  const std::int64_t wrapped = period == 0 ? INT64_MIN : most - period;
  std::int64_t reach = INT64_MIN;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const bool meets_earlier = reach > item.low;
    const bool meets_later = i + 1 < items.size() && items[i + 1].low < item.high;
    // One period later the first items come again. An item alone meets itself only where it is
    // longer than the period.
    const bool meets_next =
        wrapped != INT64_MIN &&
        (items.size() > 1 ? item.low < wrapped || item.high - period > items.front().low
                          : item.high - item.low > period);
    if (meets_earlier || meets_later || meets_next) mark_item_contested(item);
    reach = std::max(reach, item.high);
  }
}

void NestLookup::mark_item_contested(const Item& item) {
  if (!item.is_comb) {
    nests_[item.index].contested = true;
    return;
  }
  const Node node = nodes_[combs_[item.index].node];
  for (std::uint32_t i = 0; i < node.items; ++i) mark_item_contested(items_[node.first_item + i]);
}

void NestLookup::finish_subtree(std::uint32_t first, std::uint32_t last) {
  if (first == last) return;
  const std::uint32_t middle = first + (last - first) / 2;
  finish_subtree(first, middle);
  finish_subtree(middle + 1, last);
  Item& item = items_[middle];
  item.reach = item.high;
  item.latest_of_subtree = item.latest;
  for (const auto& [from, to] : {std::pair{first, middle}, std::pair{middle + 1, last}}) {
    if (from == to) continue;
    const Item& below = items_[from + (to - from) / 2];
    item.reach = std::max(item.reach, below.reach);
    item.latest_of_subtree = std::max(item.latest_of_subtree, below.latest_of_subtree);
  }
}

}  // namespace iotune::analyzer
