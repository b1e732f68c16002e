// The traces that runs leave in the default directory, held within numbers of bytes and files:
// where programs are preloaded without `iotune run`, no command of iotune's ever looks after them.
#pragma once

#include <cstdint>

namespace iotune::recorder {

// As in python/iotune/locations.py. The oldest go until what is left is an eighth below it, so
// that this is said seldom.
inline constexpr std::uint64_t kMostTraceBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMostTraces = 4096;

// To be called by who has just written `trace` in the default directory, by its absolute path; it
// stays. Looks at all traces one time in 16 (a status of each can take long in a home on a network)
// or where this one is large, and removes at most 64: in between there may be somewhat more.
void bound_traces(const char* trace) noexcept;

}  // namespace iotune::recorder
