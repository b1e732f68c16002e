// A set of indices along one dimension of a dataset, as long as its regularity rather than as
// its size: a cyclic share of ten million elements is one progression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace iotune::analyzer {

// `count` runs of `block` indices, the first at `start`, each `stride` after the one before.
struct Progression {
  std::uint64_t start;
  std::uint64_t stride;  // 0 where count is 1
  std::uint64_t count;
  std::uint64_t block;

  std::uint64_t end() const { return start + (count - 1) * stride + block; }
  template <class A>
  void archive(A& a) {
    a(start, stride, count, block);
  }
  bool operator==(const Progression&) const = default;
};

// Canonical: equal sets have equal progressions, sorted, made of runs that do not touch.
class IndexSet {
 public:
  IndexSet() = default;
  // Any of HDF5's forms: count 0 or block 0 is the empty set, stride == block one run, and
  // {count 1, block N} is {count N, stride 1, block 1}. Nothing where runs overlap or the
  // numbers pass 2^63.
  static std::optional<IndexSet> of(std::uint64_t start, std::uint64_t stride, std::uint64_t count,
                                    std::uint64_t block);
  static IndexSet interval(std::uint64_t start, std::uint64_t size);

  // The union of any sets, in any order. Sets that interleave are taken apart into their runs;
  // nothing where that would be more than a million.
  static std::optional<IndexSet> united(std::vector<const IndexSet*> sets);

  // The same of progressions in the order of their starts, none of which is empty or has runs that
  // touch. Memory is that of its outcome.
  static std::optional<IndexSet> of_pieces(std::span<const Progression> pieces);

  // The same with `to` for the index `from`, which is no larger than first(); and with a unit of
  // `unit` indices counted from `from`, nothing where the runs are not made of whole units.
  IndexSet moved(std::uint64_t from, std::uint64_t to) const;
  std::optional<IndexSet> in_units(std::uint64_t from, std::uint64_t unit) const;

  // What of it lies from `begin` on and before `end`; runs that pass these are cut there.
  IndexSet within(std::uint64_t begin, std::uint64_t end) const;

  bool empty() const { return progressions().empty(); }
  std::uint64_t size() const;
  std::uint64_t runs() const;
  std::uint64_t first() const { return progressions().front().start; }  // of a set not empty
  std::uint64_t end() const { return progressions().back().end(); }
  bool is_interval() const { return many_.empty() && one_.count == 1; }
  // True where an index may be in both; false only where none is.
  bool may_meet(const IndexSet& other) const;
  bool contains(const IndexSet& other) const;  // false where it cannot be known cheaply

  // Valid while the set is and is not changed.
  std::span<const Progression> progressions() const {
    if (!many_.empty()) return many_;
    return {&one_, one_.count > 0 ? std::size_t{1} : std::size_t{0}};
  }
  bool operator==(const IndexSet&) const = default;
  std::uint64_t hash() const;
  template <class A>
  void archive(A& a) {
    a(one_, many_);
  }

 private:
  friend class RunCollector;
  explicit IndexSet(const Progression& one) : one_(one) {}
  std::span<Progression> changeable();

  // Nearly all sets are one progression, and a run's datasets have many thousand sets: those take
  // no memory of their own.
  Progression one_{0, 0, 0, 0};    // the only one; of no other use where there are several
  std::vector<Progression> many_;  // two or more
};

}  // namespace iotune::analyzer
