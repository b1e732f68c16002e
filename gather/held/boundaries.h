// Where the bytes that all ranks' pieces cover begin and end, by one sum of small tables.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gather/held/pieces.h"
#include "gather/held/view.h"

namespace iotune::gather {

// As coverage.h says, how often a byte is covered is a function with a step up where a piece begins
// and one down where it ends, and all steps within a filled range cancel. What is left are its
// ends. Each step is added to three cells of a table; in the sum of all ranks' tables those that
// cancel have left nothing. A cell that one offset alone is left in names it, by which it leaves
// the other two (Goodrich and Mitzenmacher, Invertible Bloom lookup tables, 2011). That finds some
// 500 ends, whatever the number of pieces; that there are too many is seen. One sum of some
// thousand fails with fewer, where offsets meet in all their cells.
class Boundaries {
 public:
  static constexpr int kCells = 768, kTables = 3;
  // Steps, the sum of their offsets, and that of their marks: each modulo 2^64.
  static constexpr int kWords = 3 * kCells;

  void add(const Ascending& pieces) noexcept;

  // Of the sum over all ranks: the ranges that are covered once, each as long as it can be,
  // ascending. None where there are more ends than the table can name. It is empty then.
  std::span<const Range> covered_once() noexcept;

  // To be added up, in any order of the ranks.
  std::span<std::uint64_t, kWords> words() noexcept { return words_; }

 private:
  void step(std::int64_t offset, std::int64_t up) noexcept;

  struct End {
    std::int64_t offset, steps;
  };

  std::array<std::uint64_t, kWords> words_{};
  std::array<End, kCells> ends_{};
  std::array<Range, kCells> once_{};
};

}  // namespace iotune::gather
