// The payload of an EVENTS block as calls.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::recorder {

// Appends the payload's calls, in the order of their ends, and the streams that they point to.
// False on damage, with both as they were. Memory is bounded whatever the bytes.
bool decode_events(std::span<const std::byte> payload, std::vector<Call>& calls,
                   std::vector<std::unique_ptr<CallStream>>& streams);

}  // namespace iotune::recorder
