// The shape of an array and how ranks divided it, from the bytes of a file that each of them
// moved: docs/descriptors.md, "Without HDF5".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/bytes/index_sets.h"
#include "analyzer/datasets/descriptor.h"

namespace iotune::analyzer {

// What is known beside the bytes.
struct ShapeHint {
  std::uint64_t element_bytes = 1;
  // A declared array: bytes from one index to the next of each dimension but the last, the slowest
  // first; empty where none was declared.
  std::vector<std::uint64_t> row_bytes;
  std::uint64_t array_bytes = 0;  // of the whole of it
  std::uint64_t origin = 0;       // where it begins in the file

  bool operator==(const ShapeHint&) const = default;
  template <class A>
  void archive(A& a) {
    a(element_bytes, row_bytes, array_bytes, origin);
  }
};

struct InferredShape {
  DescribedRegions described;
  std::vector<std::uint64_t> dims;  // in elements; the slowest one ends with the last element moved
  std::uint64_t element_bytes = 1;
  std::uint64_t first_byte = 0;  // where the array begins in the file
  bool declared = false;         // the shape is the hint's
  // What each rank holds along a dimension, the slowest first; empty where it is irregular. Of rows
  // that lie apart (split_arrays.h) the first of dims is not among them.
  std::vector<IndexSets> parts;
  // What else the same bytes may be; empty where it is declared.
  std::string ambiguity;
};

// One set of bytes for each rank that moved any. Of all arrays under which every rank holds a
// product, and the ranks form a grid whose dimensions have names, one with the fewest dimensions;
// of those one with the fewest cyclic ones. None: one irregular dimension of bytes.
// Names for others come from verified_shape (verify_shape.h), which calls this.
InferredShape infer_shape(const IndexSets& ranks, const ShapeHint& hint);

// What is said where nothing fits.
InferredShape irregular_shape(const IndexSets& ranks, std::uint64_t element_bytes);

}  // namespace iotune::analyzer
