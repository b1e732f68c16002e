// The name of one dimension, from the sets of indices that ranks hold of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/datasets/index_set.h"
#include "analyzer/summary/run_summary.h"

namespace iotune::analyzer {

struct NamedDimension {
  DimensionPattern pattern;
  std::uint64_t halo = 0;  // elements that neighbours share
};

// Different sets, none of them empty, in any order. docs/descriptors.md, "The names".
NamedDimension name_dimension(std::vector<const IndexSet*> sets);

}  // namespace iotune::analyzer
