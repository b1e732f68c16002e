// The arrays of a file, one behind the other or in turn: docs/descriptors.md, "Files of several
// arrays".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/bytes/index_sets.h"
#include "analyzer/bytes/infer_shape.h"

namespace iotune::analyzer {

struct FileSpan {
  std::uint64_t begin, end;
};

// Bytes from `begin` to `end`, and as many again `pitch` further on: `copies` times. Of these no
// more than `spans`, where it has some: pieces of `piece_bytes`, or any (0).
struct FileArray {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t copies = 1, pitch = 0;
  std::vector<FileSpan> spans;  // ascending
  std::uint64_t piece_bytes = 0;
  InferredShape shape;             // of all copies together
  std::uint64_t filled_bytes = 0;  // that one rank had moved as a whole before
};

// `cuts`: of each rank, ascending, where one transfer ended and another one began. The arrays are
// in the order of the file and hold all bytes of `ranks`, each once. Empty where no arrays fit.
std::vector<FileArray> split_arrays(const IndexSets& ranks,
                                    const std::vector<std::vector<std::uint64_t>>& cuts,
                                    const ShapeHint& hint);

// What ranks hold of an array, in their order; those that hold nothing are left out.
IndexSets sets_within(const IndexSets& ranks, const FileArray& array);

}  // namespace iotune::analyzer
