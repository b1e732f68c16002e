// What the terms of a nest cover.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/pattern_log/coding/related_value.h"
#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer::pattern_log {

// From where a term begins; modulo 2^64.
struct Reach {
  std::uint64_t on = 0;   // where its next iteration would begin
  std::uint64_t end = 0;  // of its last access
};

// Of so many iterations of a body that reaches to `body`; its first and its last part have these
// strides.
constexpr Reach reach_of_loop(Reach body, std::uint64_t count, Extent first_stride,
                              Extent last_stride) noexcept {
  return {unsigned_of(first_stride.offset) * count,
          body.end + unsigned_of(last_stride.offset) * (count - 1)};
}

// Of a term with these leaves. Adds to `spans` what the loops and bodies in it cover, inner ones
// first.
Reach reach_of(const Shapes& shapes, const ShapePart& part, const Extent* leaves, Spans& spans);

// What a step from row to row may be, of a column: for offsets what the term covers, and of that
// what the term leaves room for once a row.
struct StepGuess {
  Spans spans;
  std::uint64_t round = 0;  // 0: none
};
// Of each number of a list, as append_numbers() gives them, one after the other.
class StepGuesses {
 public:
  // `shapes` and `list` outlive it.
  StepGuesses(const Shapes& shapes, const TermList& list, std::uint64_t rows) noexcept
      : shapes_(shapes), list_(list), rows_(rows) {}
  // Of a number with this role.
  const StepGuess& next(Role role);

 private:
  const Shapes& shapes_;
  const TermList& list_;
  std::uint64_t rows_;
  std::size_t term_ = 0, leaf_ = 0;
  std::uint32_t leaves_left_ = 0;  // of the present term
  StepGuess of_term_;
};

}  // namespace iotune::analyzer::pattern_log
