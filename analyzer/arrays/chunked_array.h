// An array that lies in equal pieces, each moved whole by one rank, with other bytes between them:
// so HDF5 keeps the chunks of a dataset, and its own tables (docs/descriptors.md, "Pieces").
#pragma once

#include <optional>
#include <vector>

#include "analyzer/arrays/split_arrays.h"
#include "analyzer/bytes/index_sets.h"

namespace iotune::analyzer {

// The array whose bytes are the pieces in the order of the file, and what else there is as one part
// without a name. Nothing where pieces of one size are not nearly all, or their ranks are no array.
std::optional<std::vector<FileArray>> in_pieces(const IndexSets& ranks);

}  // namespace iotune::analyzer
