// From what each rank moved of a dataset to the name of the distribution: docs/descriptors.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/region.h"
#include "analyzer/run_summary.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

struct DescribedRegions {
  Descriptor descriptor;
  // Per dimension, how many parts it is divided into; empty when a dimension is irregular.
  // Where their product is less than the ranks, each part was moved by several ranks.
  std::vector<std::uint64_t> process_grid;
  std::uint32_t ranks = 0;  // that moved data
};

// One finished Region for each rank, all of the dataset's dimensions; those without data count
// for nothing. Without any data the descriptor has no dimensions.
DescribedRegions descriptor_of(std::size_t dimensions, const std::vector<const Region*>& ranks);

// Reads the notation of Descriptor::text(); spaces may stand between its parts, and one
// dimension may drop the inner parentheses. An error names the position, counted from 1.
Result<Descriptor> parse_descriptor(std::string_view text);

// BLOCK, CYCLIC, CYCLIC(k), *, IRREGULAR.
std::string distribution_text(const DimensionPattern& dimension);

// As in to_json(RunSummary): text, and dimensions with distribution, count and cyclic_block.
std::string to_json(const Descriptor& descriptor);

}  // namespace iotune::analyzer
