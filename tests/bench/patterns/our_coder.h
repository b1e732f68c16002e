// Our way to store all streams of a workload, behind one pair of functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tests/generators/workload.h"

namespace iotune::bench {

// Everything that is needed to get the streams back, ranks and counts included.
std::vector<std::byte> encode(const generators::Workload& of);

// Throws std::runtime_error on damage.
std::vector<generators::Stream> decode(std::span<const std::byte> bytes);

}  // namespace iotune::bench
