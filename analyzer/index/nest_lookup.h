// Which of many nests have an access at an offset, and where the next one begins: in time that
// grows with the logarithm of their number and with their depth, also where hundreds of them lie
// between each other over the whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/index/nest.h"

namespace iotune::analyzer {

inline constexpr std::int64_t kNoStart = INT64_MAX;

// Where an offset was found.
struct NestHit {
  std::uint32_t nest;
  std::int64_t start;   // of the access, bytes in the file
  std::int64_t length;  // of the access, bytes
  std::int64_t position;
  std::int64_t physical;  // of the access
  std::int64_t slot;
};

// A node is a list of items, by their first byte. An item is a nest, or a *comb*: nests with one
// outermost stride that lie between each other. A comb's offsets are taken modulo that stride, and
// its nests, without their outermost loop, are the items of a node of their own. Nests whose
// bounds overlap but which never meet so come apart; the others are marked as contested.
class NestLookup {
 public:
  NestLookup() = default;
  // `latest` says for each nest when its last access was made. All nests must be normal.
  NestLookup(const std::vector<Nest>& nests, const std::vector<std::int64_t>& latest);

  // Calls found(const NestHit&) for each nest with an access at `offset`, in no order.
  template <class Found>
  void find(std::int64_t offset, Found&& found) const {
    if (!nodes_.empty()) find_in(nodes_[0], offset, offset, found);
  }
  // Where the first access begins that begins at `from` or later, of nests whose latest access is
  // not before `since`; kNoStart where none does before `limit`.
  std::int64_t next_start(std::int64_t from, std::int64_t since, std::int64_t limit) const;

  std::size_t nests() const { return nests_.size(); }
  bool contested(std::uint32_t nest) const { return nests_[nest].contested; }
  bool any_contested() const;
  // Something other than nests lies where this one does.
  void set_contested(std::uint32_t nest) { nests_[nest].contested = true; }
  Nest nest(std::uint32_t number) const;
  std::size_t memory_bytes() const noexcept;

 private:
  // x / stride and x % stride without a division, for x < 2^63.
  struct Divisor {
    std::uint64_t stride = 1;
    std::uint64_t inverse = 0;

    Divisor() = default;
    explicit Divisor(std::int64_t value);
    std::uint64_t divide(std::uint64_t x, std::uint64_t& rest) const noexcept {
      __extension__ using Wide = unsigned __int128;
      auto quotient = static_cast<std::uint64_t>(Wide{x} * inverse >> 64U);
      rest = x - quotient * stride;
      if (rest >= stride) {
        ++quotient;
        rest -= stride;
      }
      return quotient;
    }
    // Of any x, also a negative one.
    std::int64_t rest(std::int64_t x) const noexcept {
      std::uint64_t rest = 0;
      divide(static_cast<std::uint64_t>(x < 0 ? -x : x), rest);
      return static_cast<std::int64_t>(x < 0 && rest != 0 ? stride - rest : rest);
    }
  };
  struct alignas(64) Level {
    Divisor divisor;
    NestLevel steps;
  };
  // One cache line: among many, each look-up misses it.
  struct alignas(64) StoredNest {
    std::int64_t start, end, length, position, physical, latest;
    std::uint32_t slot;
    std::uint32_t first_level;
    std::uint8_t levels;
    bool contested;
  };
  struct Item {
    std::int64_t low, high;  // bounds of its bytes, in the offsets of its node
    std::int64_t reach;      // greatest `high` of its subtree, see find_between
    std::int64_t latest;     // its own
    std::int64_t latest_of_subtree;
    std::uint32_t index;  // of a nest or a comb
    bool is_comb;
  };
  struct Node {
    std::uint32_t first_item, items;
    std::uint32_t first_sample;
    bool overlapping;  // its items, each other
  };
  struct Comb {
    std::int64_t base;
    Divisor divisor;
    std::uint32_t node;
    bool wraps;  // an item reaches into the next period
  };
  struct Bounds {
    std::int64_t low, high;
    std::uint32_t nest;
  };

  std::uint32_t build_node(std::vector<Bounds> bounds, unsigned level, std::int64_t period);
  Item comb_item(const Bounds* first, const Bounds* last, unsigned level);
  void mark_contested(std::vector<Item>& items, std::int64_t period);
  void mark_item_contested(const Item& item);
  void finish_subtree(std::uint32_t first, std::uint32_t last);

  bool hit(std::uint32_t number, std::int64_t offset, NestHit& hit) const noexcept;
  std::int64_t nest_next(std::uint32_t number, std::int64_t from) const noexcept;

  // What next_start asks, and the best answer so far.
  struct Search {
    std::int64_t from;
    std::int64_t since;
    std::int64_t best;
  };
  // Offsets of a node are those of the file up to `until`; what begins there or later begins at
  // `resume` or later.
  struct Window {
    std::int64_t until;
    std::int64_t resume;
  };
  void item_next(const Item& item, std::int64_t at, const Window& window, Search& search) const;
  void comb_next(const Comb& comb, std::int64_t at, const Window& window, Search& search) const;
  std::uint32_t first_above(const Node& node, std::int64_t at) const noexcept;
  std::uint32_t next_later(std::uint32_t first, std::uint32_t last, std::uint32_t from,
                           std::int64_t since) const noexcept;

  template <class Use>
  void find_between(std::uint32_t first, std::uint32_t last, std::int64_t at, Use&& use) const {
    while (first < last) {
      const std::uint32_t middle = first + (last - first) / 2;
      const Item& item = items_[middle];
      if (item.reach <= at) return;
      find_between(first, middle, at, use);
      if (item.low > at) return;
      if (item.high > at) use(item);
      first = middle + 1;
    }
  }
  // Calls use(item) for each item with low <= at < high.
  template <class Use>
  void items_at(const Node& node, std::int64_t at, Use&& use) const {
    if (node.overlapping) {
      find_between(node.first_item, node.first_item + node.items, at, use);
      return;
    }
    const std::uint32_t above = first_above(node, at);
    if (above == node.first_item) return;
    const Item& item = items_[above - 1];
    if (at < item.high) use(item);
  }
  template <class Found>
  void find_in(const Node& node, std::int64_t at, std::int64_t offset, Found& found) const {
    items_at(node, at, [&](const Item& item) {
      if (item.is_comb) {
        const Comb& comb = combs_[item.index];
        const std::int64_t rest = comb.divisor.rest(at - comb.base);
        find_in(nodes_[comb.node], rest, offset, found);
        if (comb.wraps) {
          find_in(nodes_[comb.node], rest + static_cast<std::int64_t>(comb.divisor.stride), offset,
                  found);
        }
        return;
      }
      NestHit here;
      if (hit(item.index, offset, here)) found(here);
    });
  }

  std::vector<StoredNest> nests_;
  std::vector<Level> levels_;  // equal lists are kept once
  std::vector<Item> items_;
  // What is searched lies close: the items' `low` once more, and of large nodes every
  // kSampled-th of these.
  static constexpr std::uint32_t kSampled = 32;
  std::vector<std::int64_t> lows_;
  std::vector<std::int64_t> samples_;
  std::vector<Node> nodes_;
  std::vector<Comb> combs_;
};

}  // namespace iotune::analyzer
