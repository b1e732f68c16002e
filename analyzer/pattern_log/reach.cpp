#include "analyzer/pattern_log/reach.h"

namespace iotune::analyzer::pattern_log {

Reach reach_of(const Shapes& shapes, const ShapePart& part, const Extent* leaves, Spans& spans) {
  if (part.shape == 0) {
    const std::uint64_t length = unsigned_of(leaves->length);
    spans.add(length);
    return {length, length};
  }
  const Shape& shape = shapes[part.shape];
  Reach body;
  for (const ShapePart& inner : shape.parts) {
    const Extent* const first = leaves + inner.first_leaf;
    const std::uint64_t from = unsigned_of(first->offset) - unsigned_of(leaves->offset);
    const Reach reach = reach_of(shapes, inner, first, spans);
    body = {from + reach.on, from + reach.end};
  }
  if (shape.parts.size() > 1) spans.add(body.end);
  const Reach reach = reach_of_loop(body, part.count, shape.strides.front(),
                                    shape.strides[shape.parts.back().first_leaf]);
  spans.add(reach.on);
  return reach;
}

const StepGuess& StepGuesses::next(Role role) {
  static constexpr StepGuess kNone;
  if (role == Role::kLength && leaves_left_ > 0) --leaves_left_;
  if (role != Role::kOffset) return kNone;
  if (leaves_left_ > 0) return of_term_;
  const ShapeTerm& term = list_.terms[term_++];
  of_term_ = {};
  reach_of(shapes_, {term.count, term.shape, 0}, list_.leaves.data() + leaf_, of_term_.spans);
  // The innermost loop in which all rows take turns.
  for (std::uint32_t shape = term.shape; shape != 0; shape = shapes_[shape].parts[0].shape) {
    const std::uint64_t stride = unsigned_of(shapes_[shape].strides[0].offset);
    for (unsigned place = 0; place < of_term_.spans.size(); ++place) {
      if (of_term_.spans[place] * rows_ == stride) of_term_.round = of_term_.spans[place];
    }
  }
  leaves_left_ = shapes_[term.shape].leaves;
  leaf_ += leaves_left_;
  return of_term_;
}

}  // namespace iotune::analyzer::pattern_log
