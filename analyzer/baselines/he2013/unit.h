// The papers' pattern unit `[i,(d0,d1,…)^r]`: start at i, walk the deltas d, r times.
//
// J. He et al., I/O Acceleration with Pattern Detection, HPDC 2013, figure 7, and their PDSW 2012
// paper. The two disagree on whether the value behind the last delta belongs to the unit: their
// example (5, 7, 10, 12, 15) = [5,(2,3)^2] has |d|·r + 1 values, their figure 12 has |d|·r. The
// number of values is therefore kept beside r, and both are units.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace iotune::he2013 {

// Differences are modulo 2^64, so that every sequence of int64 is legal.
struct Unit {
  std::int64_t start = 0;
  std::vector<std::int64_t> deltas;  // empty: a single value
  std::uint64_t repeats = 0;         // r; 0 where deltas is empty
  std::uint64_t count = 0;           // values: |d|·r or one more, 1 where deltas is empty

  // What r adds to the start each time.
  std::int64_t stride() const noexcept;
  // The value at a position. From `count` on it is the papers' prediction of what follows.
  std::int64_t value(std::uint64_t position) const noexcept;
  // `[0,(3,4,7)^3]`, as the papers print it; a single value is `[5]`.
  std::string text() const;

  friend bool operator==(const Unit&, const Unit&) = default;
};

inline constexpr unsigned kWindow = 6;  // what the authors' code uses

// Algorithm 1: units whose values, one after the other, are `values`. The window bounds the length
// of a sequence of deltas that is seen to repeat. O(n · window²) time.
std::vector<Unit> find_units(std::span<const std::int64_t> values, unsigned window = kWindow);

// The values of the units, one after the other.
std::vector<std::int64_t> expand(std::span<const Unit> units);

// The value at a position of units that are expanded one after the other. O(units + |d|).
std::int64_t value_at(std::span<const Unit> units, std::uint64_t position);

// How many of the first `positions` values are `value`. O(units · |d|), whatever the counts.
std::uint64_t occurrences(std::span<const Unit> units, std::uint64_t positions, std::int64_t value);

// Number of values in all of the units.
std::uint64_t count_of(std::span<const Unit> units) noexcept;

}  // namespace iotune::he2013
