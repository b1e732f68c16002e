// Which accesses of a list have no pattern, and the range of what they are then written as.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/pattern_log/coding/number_models.h"
#include "analyzer/pattern_log/shapes.h"
#include "patterns/exact_division.h"

namespace iotune::analyzer::pattern_log {

// Values are least + unit · k, k from 0 to most; modulo 2^64.
struct PackedRange {
  std::uint64_t least = 0, unit = 1, most = 0;
};

// `column` of `count` leaves from `first` on.
PackedRange range_of(const TermList& list, std::size_t first, std::size_t count,
                     std::int64_t Extent::*column);

// The range of one column: the last one again, or a new one.
class PackedRangeModel {
 public:
  // Writer only: what code() is about.
  void prepare(const TermList& list, std::size_t first, std::size_t count,
               std::int64_t Extent::*column);

  template <class Coder>
  PackedRange code(Coder& coder) {
    if (coder.bit(again_, repeats_)) return last_;
    last_.least = least_.code(coder, next_.least);
    last_.unit = unit_.code(coder, next_.unit);
    last_.most = most_.code(coder, next_.most);
    if (last_.unit == 0) coder.fail();
    return last_;
  }

 private:
  PackedRange last_, next_;
  bool repeats_ = false;
  Bit again_;
  SignedNumber least_;
  Number unit_{expected::kBytes}, most_{expected::kBytes};
};

// For each term: how many from there on are to be packed. `seen` outlives the list: what came
// before, in this list or another, is not packed. 2^16 entries.
std::vector<std::uint32_t> find_packed_runs(const Shapes& shapes, const TermList& list,
                                            std::vector<std::uint32_t>& seen);

}  // namespace iotune::analyzer::pattern_log
