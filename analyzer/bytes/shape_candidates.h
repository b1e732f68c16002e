// How long the rows of an array may be, judged by the sets of indices that ranks hold of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/bytes/index_sets.h"

namespace iotune::analyzer {

// Lengths worth a try, at most some dozens, the likeliest first: distances between runs, between
// pieces that recur, between the first indices of ranks. The least index of all sets is 0.
std::vector<std::uint64_t> row_candidates(const IndexSets& ranks);

}  // namespace iotune::analyzer
