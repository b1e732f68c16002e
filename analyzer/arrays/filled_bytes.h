// Bytes that a rank moves as a whole before all ranks move their parts of them: so HDF5 and netCDF
// write fill values. What the ranks hold is known without that first time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/bytes/index_sets.h"

namespace iotune::analyzer {

// Of one process.
struct FilledBytes {
  std::uint32_t rank = 0;          // of the record's sets
  std::vector<Progression> fills;  // runs that it moved a part of again later
  IndexSet rest;                   // all but these

  template <class A>
  void archive(A& a) {
    a(rank, fills, rest);
  }
};

// `by_time`: what it moved, in the order of time; `cuts`: ascending, where one of two transfers
// that touch ended. Nothing where no run was moved in part again.
std::optional<FilledBytes> filled_bytes(std::vector<Progression> by_time,
                                        const std::vector<std::uint64_t>& cuts);

struct UnfilledSets {
  IndexSets sets;                  // one for each rank that has more than fills
  std::vector<Progression> fills;  // of which parts were left out
};

// The ranks' sets without such fills as all ranks together moved again. Nothing where there is
// none.
std::optional<UnfilledSets> without_fills(const IndexSets& ranks,
                                          const std::vector<FilledBytes>& filled);

}  // namespace iotune::analyzer
