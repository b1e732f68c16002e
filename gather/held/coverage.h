// Whether the pieces of all ranks together fill a range, each byte once, by one sum.
#pragma once

#include <cstdint>

#include "gather/held/pieces.h"

namespace iotune::gather {

// How often each byte is covered is a step function of the offset: up by one where a piece begins,
// down where one ends. It is 1 within [a, b) and 0 elsewhere if and only if all steps cancel but
// one up at a and one down at b. Each offset has a mark of its own; the marks of all ranks' steps
// are added modulo 2^64, and different step functions have the same sum once in 2^64.
std::uint64_t mark(std::int64_t offset) noexcept;

// The sum over a rank's pieces.
std::uint64_t steps_of(const Ascending& pieces) noexcept;

// `steps`: the sum over all ranks.
inline bool fills(std::uint64_t steps, std::int64_t begin, std::int64_t end) noexcept {
  return steps == mark(begin) - mark(end);
}

}  // namespace iotune::gather
