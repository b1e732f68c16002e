// Sets of many ranks. Those that are one another, moved, are kept once: of a rank that does as the
// others do only where it begins.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/datasets/index_set.h"

namespace iotune::analyzer {

class IndexSets {
 public:
  void add(const IndexSet& set);  // not empty

  std::size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }
  IndexSet at(std::size_t i) const {
    return shapes_[members_[i].shape].moved(0, members_[i].first);
  }
  // What of it lies from `begin` on and before `end`. Takes what that has, not what the set has.
  IndexSet part(std::size_t i, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t first = members_[i].first;
    if (end <= first) return IndexSet();
    return shape(i).within(begin > first ? begin - first : 0, end - first).moved(0, first);
  }
  // The same, moved to begin at 0: no copy. Until the next add().
  const IndexSet& shape(std::size_t i) const { return shapes_[members_[i].shape]; }
  std::uint64_t first(std::size_t i) const { return members_[i].first; }
  std::uint64_t end(std::size_t i) const {
    return members_[i].first + shapes_[members_[i].shape].end();
  }
  // Over all sets; there must be one.
  std::uint64_t least() const;
  std::uint64_t end() const;
  std::uint64_t largest_size() const;

  // Each different set once.
  std::vector<IndexSet> distinct() const;

  template <class A>
  void archive(A& a) {
    a(members_, shapes_);
    if constexpr (!A::kReads) return;
    by_hash_.clear();
    for (std::uint32_t i = 0; i < shapes_.size(); ++i) by_hash_.emplace(shapes_[i].hash(), i);
  }

 private:
  struct Member {
    std::uint64_t first;
    std::uint32_t shape;
    bool operator<(const Member& other) const {
      return shape != other.shape ? shape < other.shape : first < other.first;
    }
    bool operator==(const Member&) const = default;
    template <class A>
    void archive(A& a) {
      a(first, shape);
    }
  };
  std::vector<Member> members_;
  std::vector<IndexSet> shapes_;  // moved to 0
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace iotune::analyzer
