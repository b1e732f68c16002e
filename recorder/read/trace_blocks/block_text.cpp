#include "recorder/read/trace_blocks/block_text.h"

#include <charconv>

namespace iotune::recorder {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string value;
  value.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 &&
        digit_of(text[i + 2]) >= 0) {
      value += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else {
      value += text[i];
    }
  }
  return value;
}

}  // namespace

void read_block_text(std::span<const std::byte> payload, Attributes& to) {
  std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    to[std::string(line.substr(0, equals))] = decoded(line.substr(equals + 1));
  }
}

std::string block_text(const Attributes& attributes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const auto& [key, value] : attributes) {
    text += key;
    text += '=';
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x21 || byte == '%' || byte >= 0x7f) {
        text += '%';
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
      } else {
        text += c;
      }
    }
    text += '\n';
  }
  return text;
}

std::int64_t ProcessCalls::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = attributes.find(key);
  if (found == attributes.end()) return otherwise;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size() ? value : otherwise;
}

std::string ProcessCalls::text(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

}  // namespace iotune::recorder
