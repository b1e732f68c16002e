// What was written or read before, in this list or an earlier one, so that a sequence of terms that
// comes again is a reference. Places are relative: what moved as a block is the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer::pattern_log {

// `length` terms as they were `distance` terms before.
struct Match {
  std::uint64_t distance = 0, length = 0;
};

class TermHistory {
 public:
  // Writer only: the list that find() is about.
  void prepare(const Shapes& shapes, const TermList& list);
  // The longest match that pays from this term of it on; length 0: none.
  Match find(std::size_t term) const noexcept;

  // `number`: the term's in its list.
  void met(std::size_t number, const ShapeTerm& term, const Extent* leaves, std::uint32_t count,
           std::uint64_t step);
  // So many terms of a list that are accesses, from `number` on, after one at `place`.
  void met_accesses(std::size_t number, std::span<const Extent> accesses, std::uint64_t place);
  std::uint64_t size() const noexcept { return terms_.size(); }
  // Appends the term `distance` terms ago to the list, after one that began at `place`. Returns its
  // leaves.
  std::uint32_t copy(std::uint64_t distance, Extent place, TermList& list) const;

 private:
  // A term but for where it is.
  struct Past {
    std::uint64_t count;
    std::uint64_t step;  // from the term before
    std::uint32_t shape;
    std::uint32_t first_leaf;
  };
  std::uint32_t leaves_of(std::size_t past) const noexcept {
    const std::size_t end =
        past + 1 == terms_.size() ? leaves_.size() : terms_[past + 1].first_leaf;
    return static_cast<std::uint32_t>(end - terms_[past].first_leaf);
  }
  std::uint32_t hash_of(std::size_t past) const noexcept;
  void grow(std::size_t table);
  bool same(std::size_t past, std::size_t term) const noexcept;
  std::size_t slot(const std::uint32_t* hashes) const noexcept;

  std::vector<Past> terms_;
  std::vector<Extent> leaves_;

  // Writer only.
  const TermList* list_ = nullptr;
  std::vector<std::uint32_t> hashes_;        // of the list's terms
  std::vector<std::uint32_t> first_leaves_;  // of the list's terms, and where the last ends
  std::vector<std::uint32_t> table_;         // three hashes -> where they were met, plus one
};

// What came after two numbers last time.
class Followers {
 public:
  std::uint64_t guess(std::uint64_t a, std::uint64_t b) const noexcept {
    return table_[slot(a, b)];
  }
  void learn(std::uint64_t a, std::uint64_t b, std::uint64_t next) noexcept {
    table_[slot(a, b)] = next;
  }

 private:
  static std::size_t slot(std::uint64_t a, std::uint64_t b) noexcept {
    return ((a * 0x9e3779b97f4a7c15U) ^ (b * 0xd1342543de82ef95U)) >> 54U;
  }
  std::array<std::uint64_t, 1024> table_{};
};

}  // namespace iotune::analyzer::pattern_log
