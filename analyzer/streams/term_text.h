// Accesses as nested loops, in words for people.
//   4×{(100,8); +16}             offsets 100, 116, 132, 148, each 8 bytes
//   5×{4×{(100,8); +16}; +1000}  that five times, 1000 bytes further each time
//   3×{(0,8; +0) (96,16; +32)}   two accesses an iteration, each with a stride of its own
// Places are those of the first iteration. A stride that changes the length too is
// +(offset,length).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer {

struct TermTextOptions {
  std::int64_t origin = 0;    // offsets are counted from here
  std::size_t shown = 8;      // outermost terms; then it is said how many are left out
  bool offsets_only = false;  // lengths are not printed
};

std::string term_text(const pattern_log::Shapes& shapes, const pattern_log::TermList& list,
                      const TermTextOptions& options);

// A loop with all that is in it, or a run of accesses that belong to none.
struct NestTerm {
  std::string text;
  std::uint64_t accesses;
};

struct Nests {
  std::vector<NestTerm> terms;
  std::size_t encoded_bytes;  // of patterns/README.md's encoding, without the number of accesses
};

// What the shortest encoding says: a handful of accesses may be shorter as a list than as a loop.
// Throws std::length_error above patterns::kMaxTuples. A run of more than `shown_atoms` accesses is
// cut in the text, which then says how many are left out; so is a body of more than 12 parts.
Nests find_nests(std::span<const patterns::Extent> accesses, std::size_t shown_atoms = 16);

// Accesses of the list, modulo 2^64.
std::uint64_t accesses_of(const pattern_log::Shapes& shapes, const pattern_log::TermList& list);

}  // namespace iotune::analyzer
