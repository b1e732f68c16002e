// The bytes of tuple_loops.h as a tree of terms: for code that reasons about a
// pattern (strides, counts, nesting) or prints it, without expanding it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns {

// A term is `rows` consecutive tuples. Its values are relative to the
// first tuple of the iteration of the loop around it (outermost terms:
// absolute), in the first iteration of that loop.
struct Term {
  enum class Kind : std::uint8_t { kAtoms, kLoop };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Kind kind = Kind::kAtoms;
  // Loop: the body is one that was met before: first_child is that one's, and
  // whatever its terms say about loops around them is about the place of that one.
  bool repeated = false;
  // How many of the loops around have stride == nullptr.
  std::uint8_t levels = 0;
  std::uint32_t rows = 0;
  // Loop: iterations (>= 2). Atoms: tuples in the run, equal to rows.
  std::uint32_t count = 0;
  // Index of the next term of the same body or of the outermost list, or kNone.
  std::uint32_t next = kNone;
  std::uint32_t first_child = kNone;
  // Atoms: count * dims values, row-major. Loop: the dims values of its first tuple.
  const std::int64_t* values = nullptr;
  // Loop: dims values, what each iteration adds to the one before; nullptr if that
  // is not the same for all of its body, which has it in own_strides then.
  const std::int64_t* stride = nullptr;
  // Atoms and repeated loops with levels != 0: what an iteration of each such loop
  // around adds, [levels, outermost first][count, or 1 for a loop][dims]; else nullptr.
  const std::int64_t* own_strides = nullptr;
};

// What read_terms needs: array elements, not bytes.
struct TermSpace {
  std::size_t terms = 0;
  std::size_t values = 0;
};

// A tree points into the arrays that read_terms was given and into nothing else.
struct TermTree {
  std::span<const Term> terms;  // terms[0] is the first outermost one
  std::size_t rows = 0;
  unsigned dims = 0;

  const Term* first() const noexcept { return at(terms.empty() ? Term::kNone : 0); }
  const Term* next(const Term& term) const noexcept { return at(term.next); }
  const Term* first_child(const Term& loop) const noexcept { return at(loop.first_child); }

 private:
  const Term* at(std::uint32_t index) const noexcept {
    return index == Term::kNone ? nullptr : terms.data() + index;
  }
};

// Measures one encoding of n tuples without moving the caller's reader. False on damage.
bool measure_terms(ByteReader in, std::size_t n, unsigned dims, TermSpace& space) noexcept;

// Reads one encoding of n tuples and leaves `in` behind it. False on damage or
// if an array is shorter than measured; `tree` is then empty.
bool read_terms(ByteReader& in, std::size_t n, unsigned dims, std::span<Term> terms,
                std::span<std::int64_t> values, TermTree& tree) noexcept;

}  // namespace iotune::patterns
