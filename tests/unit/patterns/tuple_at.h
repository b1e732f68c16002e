// What a tree of terms says that one tuple is: the meaning of its fields, spelled out once, against
// which the two readers are held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/loop_terms.h"

namespace iotune::patterns::testing {

// False if row >= tree.rows or `tuple` is shorter than tree.dims.
inline bool tuple_at(const TermTree& tree, std::size_t row,
                     std::span<std::int64_t> tuple) noexcept {
  if (row >= tree.rows || tuple.size() < tree.dims) return false;
  const auto add = [&](const std::int64_t* values, std::size_t times) noexcept {
    for (unsigned j = 0; j < tree.dims; ++j) {
      const auto sum =
          static_cast<std::uint64_t>(tuple[j]) + static_cast<std::uint64_t>(values[j]) * times;
      tuple[j] = static_cast<std::int64_t>(sum);
    }
  };
  for (unsigned j = 0; j < tree.dims; ++j) tuple[j] = 0;
  // Iterations of the loops around that left the strides to their terms.
  std::size_t iterations[kMaxLoopDepth + 1] = {};
  const Term* term = tree.first();
  while (term != nullptr) {
    if (row >= term->rows) {
      row -= term->rows;
      term = tree.next(*term);
      continue;
    }
    const bool is_atom = term->kind == Term::Kind::kAtoms;
    const std::size_t vectors = is_atom ? term->count : 1;
    const std::size_t place = is_atom ? row : 0;
    add(term->values + place * tree.dims, 1);
    for (unsigned level = 0; level < term->levels && term->own_strides != nullptr; ++level) {
      add(term->own_strides + (level * vectors + place) * tree.dims, iterations[level]);
    }
    if (is_atom) return true;
    const std::size_t iteration_rows = term->rows / term->count;
    const Term* child = tree.first_child(*term);
    const unsigned around = child->levels - (term->stride == nullptr ? 1U : 0U);
    if (term->repeated) {
      for (unsigned level = 0; level < around; ++level) iterations[level] = 0;
    }
    if (term->stride == nullptr) {
      iterations[around] = row / iteration_rows;
    } else {
      add(term->stride, row / iteration_rows);
    }
    row %= iteration_rows;
    term = child;
  }
  return tree.dims == 0;
}

}  // namespace iotune::patterns::testing
