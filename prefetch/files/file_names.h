// Names of files in few bytes: names that differ by their numbers alone (000017.npy, c/3/0) have
// one pattern, which is written once, and each name is then the steps of its numbers.
//
// A name is a varint: 0 and a literal (varint bytes, the bytes); a pattern's number from 1 on and
// for each of its numbers the svarint of its step from the pattern's name before; the next number
// that is free, a new pattern (as a literal), and the steps from 0. In a pattern a number is the
// byte 1 and '0' + its digits where it has leading zeros, '0' where it has none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "patterns/bytes.h"

namespace iotune::prefetch {

inline constexpr std::size_t kMostNameBytes = 512;

// All zero has no pattern yet. 50 KiB: not for a stack.
class NameCode {
 public:
  // A name of kMostNameBytes at most. False where `out` is full.
  bool write(const char* name, std::size_t bytes, patterns::ByteWriter& out) noexcept;
  // The name's bytes in to[kMostNameBytes]; 0 where it is damaged.
  std::size_t read(patterns::ByteReader& in, char* to) noexcept;

 private:
  static constexpr unsigned kMostPatterns = 256, kMostNumbers = 8, kMostDigits = 18;
  static constexpr std::size_t kTextBytes = 32 << 10;
  struct Pattern {
    std::uint32_t at;
    std::uint16_t bytes;
    std::uint16_t numbers;
    std::int64_t last[kMostNumbers];
  };
  struct Parts {
    char text[kMostNameBytes];
    std::size_t bytes;
    std::int64_t numbers[kMostNumbers];
    unsigned count;
  };

  static bool take_apart(const char* name, std::size_t bytes, Parts& parts) noexcept;
  static std::size_t put_together(const char* text, std::size_t bytes, const std::int64_t* numbers,
                                  char* to) noexcept;
  unsigned find(const Parts& parts) const noexcept;
  bool has_room(std::size_t bytes) const noexcept {
    return patterns_ < kMostPatterns && used_ + bytes <= kTextBytes;
  }
  Pattern& add(const char* text, std::size_t bytes, unsigned numbers) noexcept;

  unsigned patterns_ = 0;
  std::size_t used_ = 0;
  Pattern pattern_[kMostPatterns] = {};
  char text_[kTextBytes] = {};
};

}  // namespace iotune::prefetch
