// The accesses of a batch, in the loops that patterns/loop_finder.h finds, as nests of one access
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/index/nest.h"

namespace iotune::analyzer {

struct StreamPlace {
  std::int64_t slot = 0;      // of the stream
  std::int64_t position = 0;  // of the first access
  std::int64_t physical = 0;  // where the log stands before it
};

// Appends the nests of tuples (offset, length) or (offset, length, physical), in bytes, one or
// more; without the third an access lies in the log behind the one before it, and `at` is left
// behind the last. A loop whose iterations have different lengths becomes a nest per iteration.
// Accesses of length 0 have a position and nothing else. Returns what is wrong, if anything:
// numbers out of range, or more than `most` nests. The nests are not normal yet.
std::optional<std::string> append_nests(std::span<const std::int64_t> tuples, unsigned dims,
                                        StreamPlace& at, std::size_t most, std::vector<Nest>& to);

}  // namespace iotune::analyzer
