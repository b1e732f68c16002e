// Encodes, decodes and compares, in buffers of exactly the promised sizes, so
// that a sanitizer sees a step outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "patterns/tuple_loops.h"

namespace iotune::patterns::testing {

using Values = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

Bytes encode(const Values& values, unsigned dims, EncodeOptions options = {});

// `ok` only if all of the bytes were used up. Holds skip_tuples and decode_tuple_runs against it.
struct Read {
  bool ok = false;
  Values values;
};
Read decode(const Bytes& bytes, std::size_t n, unsigned dims);

// The runs of decode_tuple_runs, with room for as many as tuples; 0: they are no runs.
std::size_t runs_in(const Bytes& bytes, std::size_t n, unsigned dims);

// Expects `values` again and the size to be within its bound; returns the size in bytes.
std::size_t expect_round_trip(const Values& values, unsigned dims, EncodeOptions options = {});

}  // namespace iotune::patterns::testing
