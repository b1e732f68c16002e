// How likely it is that bytes are an array: of several ways to divide a file the cheapest is taken.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/bytes/index_sets.h"
#include "analyzer/bytes/infer_shape.h"

namespace iotune::analyzer {

struct FileArray;

inline constexpr double kNoName = 1e9;
// A part that nothing names, each of its rows, and each of its loops, which may be an array itself.
inline constexpr double kIrregular = 3, kIrregularRow = 0.5, kIrregularLoop = 1.5;
inline constexpr double kRecords = 0.25;  // beside what one row costs

// An array of any kind costs about 1; what programs seldom do costs more. `all`: of the file.
double cost_of(const InferredShape& shape, const IndexSets& sets, const IndexSets& all);

// False for bytes that are so irregular that any cut makes arrays of them.
bool are_likely(const std::vector<FileArray>& arrays, std::size_t ranks);

}  // namespace iotune::analyzer
