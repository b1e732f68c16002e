// The papers' unit as text: `[i,(d0,d1,…)^r] n=COUNT`. It starts at i, walks the
// deltas d, r times; it means COUNT = |d|·r values. Two texts of the paper
// disagree on whether the value after the last delta belongs to the unit (their
// example [5,(2,3)^2] has five values, their code makes four), hence the count.
#pragma once

#include <cstddef>
#include <span>

#include "patterns/loop_terms.h"

namespace iotune::patterns {

// Prints dimension `dim` of an outermost term of `tree`: a run of atoms, or a loop
// with one stride and a body of atoms only. Returns the length of the whole text without its
// final NUL, as snprintf does (text is cut to what fits, and ends in NUL unless
// empty), or 0 if the term is anything else or dim is out of range.
std::size_t print_unit(const TermTree& tree, const Term& term, unsigned dim,
                       std::span<char> text) noexcept;

}  // namespace iotune::patterns
