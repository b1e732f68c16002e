// How many transfers of one process moved which bytes of a file, and the time that they took: what
// the arrays of the file get when it is known where they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/datasets/index_set.h"

namespace iotune::analyzer {

// Transfers that are counted together. Their places are known one by one where `exact`; else they
// lie somewhere within.
struct Tally {
  Progression place{};
  std::uint64_t bytes = 0, calls = 0, nanoseconds = 0;  // UINT64_MAX ns: not known
  bool collective = false, through_mpi = false;

  template <class A>
  void archive(A& a) {
    a(place, bytes, calls, nanoseconds, collective, through_mpi);
  }
};

class ByteTallies {
 public:
  // One transfer, or `calls` that lie at equal steps. `place` may have gaps: a view's.
  void add(const Tally& tally);
  // No more than so many are kept: neighbours in the file become one.
  void coarsen(std::size_t most);
  const std::vector<Tally>& all() const { return tallies_; }

  template <class A>
  void archive(A& a) {
    a(tallies_);
  }

 private:
  std::vector<Tally> tallies_;
};

// Bytes of a file that belong together under one number.
struct ByteRange {
  std::uint64_t begin, end;
  std::uint32_t owner;
};

// What one process's tallies are worth to each owner. `ranges`: sorted, disjoint.
struct OwnedTally {
  std::uint64_t bytes = 0, calls = 0, nanoseconds = 0;
  bool independent = false, collective = false, through_mpi = false;

  template <class A>
  void archive(A& a) {
    a(bytes, calls, nanoseconds, independent, collective, through_mpi);
  }
  // One transfer more, or several.
  void add(const Tally& more);
};
std::vector<OwnedTally> divide(const std::vector<Tally>& tallies,
                               const std::vector<ByteRange>& ranges, std::size_t owners);

}  // namespace iotune::analyzer
