// The text of PROCESS and END blocks: lines key=value, values percent-encoded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "recorder/read/call.h"

namespace iotune::recorder {

// Sets the text's keys in `to`; lines without '=' are left out.
void read_block_text(std::span<const std::byte> payload, Attributes& to);

std::string block_text(const Attributes& attributes);

}  // namespace iotune::recorder
