// Encodes, decodes and compares, in buffers of exactly the promised sizes, so
// that a sanitizer sees a step outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "patterns/loop_terms.h"
#include "patterns/tuple_loops.h"

namespace iotune::patterns::testing {

using Values = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

Bytes encode(const Values& values, unsigned dims, EncodeOptions options = {});

// The two readers of the same bytes. `ok` only if all of them were used up.
struct Read {
  bool ok = false;
  Values values;
};
Read decode(const Bytes& bytes, std::size_t n, unsigned dims);
// By way of measure_terms, read_terms and tuple_at of every row.
Read decode_terms(const Bytes& bytes, std::size_t n, unsigned dims);

// A tree and the memory that it points into.
struct OwnedTree {
  std::vector<Term> terms;
  Values values;
  TermTree tree;
};
OwnedTree read_tree(const Bytes& bytes, std::size_t n, unsigned dims);

// Expects both readers to yield `values` again and the size to be within its
// bound; returns the size in bytes.
std::size_t expect_round_trip(const Values& values, unsigned dims, EncodeOptions options = {});

}  // namespace iotune::patterns::testing
