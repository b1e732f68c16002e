// The terms of a sequence as a list: as accesses come (patterns/nest_finder.h, with memory that
// grows as it must), or of all of them at once (patterns/loop_finder.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/pattern_log/shapes.h"
#include "patterns/nest_finder.h"

namespace iotune::analyzer::pattern_log {

class TermFinder {
 public:
  // Terms kept on the stack: where periods longer than a third of that are not found.
  explicit TermFinder(std::uint32_t most_terms = 1024) noexcept : most_terms_(most_terms) {}

  // Appends to `list` what leaves the stack.
  void add(std::span<const Extent> accesses, Shapes& shapes, TermList& list);
  // As add(), but stops where a loop is open; returns how many were taken.
  std::size_t add_until_open(std::span<const Extent> accesses, Shapes& shapes, TermList& list);
  // Everything that is left; the finder is empty then, and keeps the memory of a small one at most.
  void finish(Shapes& shapes, TermList& list);

  // Takes only what the open loop predicts; returns how many.
  std::size_t go_on(std::span<const Extent> accesses) noexcept {
    return finder_ ? finder_->go_on(accesses.data(), accesses.size()) : 0;
  }
  bool expects(const Extent& access) const noexcept { return finder_ && finder_->expects(access); }
  // Accesses that the open loop has predicted.
  std::uint64_t predicted() const noexcept {
    return finder_ && finder_->open() ? finder_->predicted() : 0;
  }
  std::size_t leaves_held() const noexcept { return finder_ ? finder_->leaves_held() : 0; }
  // The indices of `shapes` are no longer valid.
  void forget_shapes() noexcept { shape_of_.clear(); }

 private:
  void make_room(Shapes& shapes, TermList& list);
  void take(std::uint32_t terms, Shapes& shapes, TermList& list);
  std::uint32_t shape_of(std::uint32_t body, Shapes& shapes);

  std::uint32_t most_terms_;
  std::uint32_t capacity_ = 0;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::optional<patterns::NestFinder> finder_;
  std::vector<std::uint32_t> shape_of_;  // by body; 0: not known yet
  std::uint32_t generation_ = 0;
};

// Of a whole sequence of patterns::kMaxTuples at most. Finds what encode_tuples writes.
TermList all_terms(std::span<const Extent> accesses, Shapes& shapes);

}  // namespace iotune::analyzer::pattern_log
