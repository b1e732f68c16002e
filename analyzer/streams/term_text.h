// Loops of a pattern log in words for people, in the notation of nest_text.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer {

struct TermTextOptions {
  std::int64_t origin = 0;    // offsets are counted from here
  std::size_t shown = 8;      // outermost terms; then it is said how many are left out
  bool offsets_only = false;  // lengths are not printed
};

std::string term_text(const pattern_log::Shapes& shapes, const pattern_log::TermList& list,
                      const TermTextOptions& options);

// Accesses of the list, modulo 2^64.
std::uint64_t accesses_of(const pattern_log::Shapes& shapes, const pattern_log::TermList& list);

}  // namespace iotune::analyzer
