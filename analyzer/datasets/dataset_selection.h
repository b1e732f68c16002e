// A selection of HDF5 as part of a rank's region.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/datasets/region.h"
#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

// `scalar`: the dataset has no dimensions of its own. `dims` grows to hold what is selected: a
// selection is newer than what was said when the dataset was first seen.
void add_selection(const recorder::Selection& selection, std::uint64_t points, bool scalar,
                   std::vector<std::uint64_t>& dims, Region& region);

// The same of `calls` selections, each `steps` further along the dimensions than the one before;
// `points` of one of them.
void add_selections(const recorder::Selection& first, std::span<const std::int64_t> steps,
                    std::uint64_t calls, std::uint64_t points, bool scalar,
                    std::vector<std::uint64_t>& dims, Region& region);

}  // namespace iotune::analyzer
