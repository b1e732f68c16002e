// Building short strings without libc's formatting, which may allocate and is not
// async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace iotune {

// A NUL-terminated text of at most N - 1 bytes. What does not fit is cut off, and cut() says so.
template <std::size_t N>
class ShortText {
 public:
  constexpr ShortText() noexcept {
    // Zero all only where a global needs it; on the stack one byte is enough.
    if (std::is_constant_evaluated()) {
      for (char& c : text_) c = '\0';
    }
    text_[0] = '\0';
  }

  ShortText& add(const char* text, std::size_t bytes) noexcept {
    const std::size_t left = N - 1 - used_;
    if (bytes > left) {
      cut_ = true;
      bytes = left;
    }
    if (bytes != 0) std::memcpy(text_ + used_, text, bytes);
    grew(bytes);
    return *this;
  }
  ShortText& operator<<(const char* text) noexcept {
    return add(text, text == nullptr ? 0 : std::strlen(text));
  }
  ShortText& operator<<(char c) noexcept {
    push(c);
    return *this;
  }
  template <typename Integer>
  requires(std::is_integral_v<Integer> && sizeof(Integer) > 1) ShortText& operator<<(
      Integer value) noexcept {
    char digits[24];
    std::size_t count = 0;
    bool negative = false;
    std::uint64_t rest = static_cast<std::uint64_t>(value);
    if constexpr (static_cast<Integer>(-1) < static_cast<Integer>(0)) {
      negative = value < 0;
      if (negative) rest = 0 - rest;
    }
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (negative) push('-');
    while (count > 0) push(digits[--count]);
    return *this;
  }
  // Percent-encodes what a line of PROCESS text cannot hold.
  ShortText& add_escaped(const char* text, std::size_t bytes) noexcept {
    static constexpr char kHex[] = "0123456789ABCDEF";
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c > 0x20 && c < 0x7f && c != '%') {
        push(static_cast<char>(c));
      } else {
        push('%');
        push(kHex[c >> 4]);
        push(kHex[c & 15]);
      }
    }
    return *this;
  }
  ShortText& add_hex(std::uint64_t value) noexcept {
    static constexpr char kHex[] = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4) push(kHex[(value >> shift) & 15]);
    return *this;
  }
  void clear() noexcept {
    used_ = 0;
    cut_ = false;
    text_[0] = '\0';
  }

  // Room for a system call to write into; grew() says how much it wrote.
  char* tail() noexcept { return text_ + used_; }
  std::size_t room() const noexcept { return N - used_; }
  void grew(std::size_t bytes) noexcept {
    used_ += bytes;
    text_[used_] = '\0';
  }

  const char* c_str() const noexcept { return text_; }
  std::size_t size() const noexcept { return used_; }
  bool cut() const noexcept { return cut_; }

 private:
  void push(char c) noexcept {
    if (used_ + 1 >= N) {
      cut_ = true;
      return;
    }
    text_[used_++] = c;
    text_[used_] = '\0';
  }
  char text_[N];
  std::size_t used_ = 0;
  bool cut_ = false;
};

// True where `text` starts with `prefix`.
inline bool starts_with(const char* text, const char* prefix) noexcept {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// True where `text` ends with `ending` and has something before it.
inline bool ends_with(const char* text, const char* ending) noexcept {
  const std::size_t bytes = std::strlen(text), last = std::strlen(ending);
  return bytes > last && std::strcmp(text + bytes - last, ending) == 0;
}

// The decimal number at `text`; 0 where there is none.
inline std::uint64_t parse_decimal(const char* text) noexcept {
  std::uint64_t value = 0;
  while (*text >= '0' && *text <= '9')
    value = value * 10 + static_cast<std::uint64_t>(*text++ - '0');
  return value;
}

}  // namespace iotune
