// The payload of an EVENTS block as calls.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "recorder/read/call.h"
#include "recorder/read/trace_blocks/stream_totals.h"

namespace iotune::recorder {

// Appends the payload's calls, in the order of their ends, and the streams that they point to.
// False on damage, with both as they were. Memory is bounded whatever the bytes. `marks`: the
// payload of the MARKS block that goes with it; empty where there is none.
bool decode_events(std::span<const std::byte> payload, std::vector<Call>& calls,
                   CallStreams& streams, std::span<const std::byte> marks = {});

// The same; but where the totals of all streams suffice, these are appended to `totals` and there
// are no calls: the block's order and its times, which cost the most, are not read. `spare`:
// streams that nobody needs any more; new ones are made of their memory.
bool decode_events(std::span<const std::byte> payload, const TotalsSuffice& suffice,
                   std::vector<Call>& calls, CallStreams& streams,
                   std::vector<StreamTotals>& totals, std::span<const std::byte> marks = {},
                   CallStreams* spare = nullptr);

// The payload without its calls and their times: in time for its patterns. False on damage.
bool decode_patterns(std::span<const std::byte> payload, BatchPatterns& batch);

}  // namespace iotune::recorder
