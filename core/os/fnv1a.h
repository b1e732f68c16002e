// FNV-1a of 64 bits: for texts of some ten to a hundred characters that nobody chooses to collide.
#pragma once

#include <cstdint>

namespace iotune {

class Fnv1a {
 public:
  constexpr void add(char c) noexcept {
    value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  constexpr std::uint64_t value() const noexcept { return value_; }

  static constexpr std::uint64_t of(const char* text) noexcept {
    Fnv1a hash;
    for (; *text != '\0'; ++text) hash.add(*text);
    return hash.value();
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace iotune
