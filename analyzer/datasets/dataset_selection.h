// A selection of HDF5 as part of a rank's region.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/datasets/region.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// `scalar`: the dataset has no dimensions of its own. `dims` grows to hold what is selected: a
// selection is newer than what was said when the dataset was first seen.
void add_selection(const recorder::Selection& selection, std::uint64_t points, bool scalar,
                   std::vector<std::uint64_t>& dims, Region& region);

}  // namespace iotune::analyzer
