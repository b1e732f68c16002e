// A stream as channels: sequences of extents that are regular by themselves. Most streams have one;
// FORMAT.md tells of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/pattern_log/find_terms.h"
#include "analyzer/pattern_log/shapes.h"

namespace iotune::analyzer::pattern_log {

// Channels of a stream, by number. Lower ones hold its accesses.
inline constexpr std::uint32_t kMostAccessChannels = 8;
// (channel, how many accesses in a row are from there), where there is more than one.
inline constexpr std::uint32_t kTurnsChannel = 8;
// (physical offset - where the access before ended, 0), where physical offsets are known.
inline constexpr std::uint32_t kPhysicalChannel = 9;
inline constexpr std::uint32_t kChannels = 10;

}  // namespace iotune::analyzer::pattern_log
