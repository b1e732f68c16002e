// A workload as a pattern log and back: what benchmarks measure and tests hold against each other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tests/generators/workload.h"

namespace iotune::generators {

std::vector<std::byte> encode_log(const Workload& of);

// The streams in their order. Throws std::runtime_error on damage.
std::vector<Stream> decode_log(std::span<const std::byte> log);

}  // namespace iotune::generators
