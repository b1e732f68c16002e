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

std::vector<StepGuess> step_guesses(const Shapes& shapes, const TermList& list,
                                    std::uint64_t rows) {
  std::vector<StepGuess> guesses;
  std::vector<Role> roles;
  append_roles(shapes, list, roles);
  guesses.reserve(roles.size());
  const Extent* leaves = list.leaves.data();
  for (const ShapeTerm& term : list.terms) {
    StepGuess guess;
    reach_of(shapes, {term.count, term.shape, 0}, leaves, guess.spans);
    // The innermost loop in which all rows take turns.
    for (std::uint32_t shape = term.shape; shape != 0; shape = shapes[shape].parts[0].shape) {
      const std::uint64_t stride = unsigned_of(shapes[shape].strides[0].offset);
      for (unsigned place = 0; place < guess.spans.size(); ++place) {
        if (guess.spans[place] * rows == stride) guess.round = guess.spans[place];
      }
    }
    std::uint32_t left = shapes[term.shape].leaves;
    leaves += left;
    while (left > 0) {
      const bool offset = roles[guesses.size()] == Role::kOffset;
      left -= roles[guesses.size()] == Role::kLength ? 1 : 0;
      guesses.push_back(offset ? guess : StepGuess{});
    }
  }
  return guesses;
}

}  // namespace iotune::analyzer::pattern_log
