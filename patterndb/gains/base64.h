// Bytes as text, for JSON (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace iotune::patterndb {

std::string base64(std::string_view bytes);
// Throws Fault for what is no base64.
std::string from_base64(std::string_view text);

}  // namespace iotune::patterndb
