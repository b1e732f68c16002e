// Every name that is inferred from bytes goes through here.
#pragma once

#include "analyzer/bytes/index_sets.h"
#include "analyzer/bytes/infer_shape.h"

namespace iotune::analyzer {

// What infer_shape finds, if the bytes that it describes are those of `ranks`; else one irregular
// dimension.
InferredShape verified_shape(const IndexSets& ranks, const ShapeHint& hint);

// Whether each rank's part of the array has just that rank's bytes, and the parts along each
// dimension are divided as the name says.
bool describes(const InferredShape& shape, const IndexSets& ranks);

}  // namespace iotune::analyzer
