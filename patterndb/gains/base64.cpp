#include "patterndb/gains/base64.h"

#include <cstdint>

#include "patterndb/store/result.h"

namespace iotune::patterndb {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw Fault{"no base64: its length is no multiple of four"};
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      const std::size_t digit = kDigits.find(c);
      const bool pads = c == '=' && i + 4 == text.size() && k >= 2;
      if (pads) ++padding;
      // Behind padding comes padding alone.
      if ((digit == std::string_view::npos || padding > 0) && !pads) {
        throw Fault{"no base64 at byte " + std::to_string(i + k)};
      }
      group = group << 6 | (pads ? 0U : static_cast<std::uint32_t>(digit));
    }
    for (std::size_t k = 0; k < 3 - padding; ++k) {
      bytes += static_cast<char>(group >> (16 - 8 * k) & 255);
    }
  }
  return bytes;
}

}  // namespace iotune::patterndb
