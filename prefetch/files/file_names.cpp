#include "prefetch/files/file_names.h"

#include <cstring>

namespace iotune::prefetch {
namespace {

constexpr char kNumber = 1;  // in a pattern; no file name worth a pattern has it

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

}  // namespace

bool NameCode::take_apart(const char* name, std::size_t bytes, Parts& parts) noexcept {
  parts.bytes = parts.count = 0;
  for (std::size_t at = 0; at < bytes;) {
    if (name[at] == kNumber || parts.bytes + 2 > kMostNameBytes) return false;
    if (!is_digit(name[at]) || parts.count == kMostNumbers) {
      parts.text[parts.bytes++] = name[at++];
      continue;
    }
    std::size_t digits = 0;
    std::int64_t value = 0;
    for (; at + digits < bytes && digits < kMostDigits && is_digit(name[at + digits]); ++digits) {
      value = value * 10 + (name[at + digits] - '0');
    }
    const bool is_padded = name[at] == '0' && digits > 1;
    parts.text[parts.bytes++] = kNumber;
    parts.text[parts.bytes++] = static_cast<char>('0' + (is_padded ? digits : 0));
    parts.numbers[parts.count++] = value;
    at += digits;
  }
  return true;
}

std::size_t NameCode::put_together(const char* text, std::size_t bytes, const std::int64_t* numbers,
                                   char* to) noexcept {
  std::size_t used = 0;
  for (std::size_t at = 0; at < bytes; ++at) {
    if (text[at] != kNumber) {
      if (used == kMostNameBytes) return 0;
      to[used++] = text[at];
      continue;
    }
    const auto padded = static_cast<std::size_t>(text[++at] - '0');
    char digits[20];
    std::size_t count = 0;
    std::int64_t rest = *numbers++;
    if (rest < 0) return 0;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count < padded) digits[count++] = '0';
    if (used + count > kMostNameBytes) return 0;
    while (count > 0) to[used++] = digits[--count];
  }
  return used;
}

unsigned NameCode::find(const Parts& parts) const noexcept {
  unsigned number = 0;
  for (; number < patterns_; ++number) {
    const Pattern& one = pattern_[number];
    if (one.bytes == parts.bytes && std::memcmp(text_ + one.at, parts.text, parts.bytes) == 0) {
      break;
    }
  }
  return number;
}

NameCode::Pattern& NameCode::add(const char* text, std::size_t bytes, unsigned numbers) noexcept {
  Pattern& one = pattern_[patterns_++];
  one.at = static_cast<std::uint32_t>(used_);
  one.bytes = static_cast<std::uint16_t>(bytes);
  one.numbers = static_cast<std::uint16_t>(numbers);
  if (bytes != 0) std::memcpy(text_ + used_, text, bytes);
  used_ += bytes;
  return one;
}

bool NameCode::write(const char* name, std::size_t bytes, patterns::ByteWriter& out) noexcept {
  Parts parts;
  const bool has_pattern = take_apart(name, bytes, parts);
  const unsigned number = has_pattern ? find(parts) : patterns_;
  if (!has_pattern || (number == patterns_ && !has_room(parts.bytes))) {
    out.varint(0);
    out.varint(bytes);
    out.raw(name, bytes);
    return !out.overflowed();
  }
  out.varint(number + 1);
  if (number == patterns_) {
    out.varint(parts.bytes);
    out.raw(parts.text, parts.bytes);
    add(parts.text, parts.bytes, parts.count);
  }
  Pattern& pattern = pattern_[number];
  for (unsigned i = 0; i < parts.count; ++i) {
    out.svarint(parts.numbers[i] - pattern.last[i]);
    pattern.last[i] = parts.numbers[i];
  }
  return !out.overflowed();
}

std::size_t NameCode::read(patterns::ByteReader& in, char* to) noexcept {
  const std::uint64_t word = in.varint();
  const bool is_new = word == patterns_ + std::uint64_t{1};
  if (in.failed() || word > patterns_ + std::uint64_t{1}) return 0;
  if (word == 0 || is_new) {
    const std::uint64_t bytes = in.varint();
    if (bytes == 0 || bytes > kMostNameBytes) return 0;
    const auto text = in.take(static_cast<std::size_t>(bytes));
    if (in.failed()) return 0;
    const auto* const chars = reinterpret_cast<const char*>(text.data());
    if (word == 0) {
      std::memcpy(to, chars, text.size());
      return text.size();
    }
    unsigned numbers = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (chars[at] != kNumber) continue;
      if (++at == text.size() || ++numbers > kMostNumbers) return 0;
      if (chars[at] < '0' || chars[at] > static_cast<char>('0' + kMostDigits)) return 0;
    }
    if (!has_room(text.size())) return 0;
    add(chars, text.size(), numbers);
  }
  Pattern& pattern = pattern_[word - 1];
  for (unsigned i = 0; i < pattern.numbers; ++i) {
    // Damage may name any step: no overflow.
    pattern.last[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(pattern.last[i]) +
                                                static_cast<std::uint64_t>(in.svarint()));
  }
  return in.failed() ? 0 : put_together(text_ + pattern.at, pattern.bytes, pattern.last, to);
}

}  // namespace iotune::prefetch
