// An adaptive binary range coder: bits that are mostly the same take a fraction of a bit each.
// (The carry propagation is that of G. N. N. Martin's range coding, in 32 bits with one byte
// held back; probabilities adapt by shifts.) No memory but the caller's models.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/bytes.h"

namespace iotune::patterns {

// How likely a bit is zero, of 2^11.
struct BitModel {
  static constexpr unsigned kBits = 11, kAdaptation = 5;
  std::uint16_t zero = 1u << (kBits - 1);

  void saw(bool one) noexcept {
    if (one) {
      zero = static_cast<std::uint16_t>(zero - (zero >> kAdaptation));
    } else {
      zero = static_cast<std::uint16_t>(zero + (((1u << kBits) - zero) >> kAdaptation));
    }
  }
};

class RangeEncoder {
 public:
  explicit RangeEncoder(ByteWriter& out) noexcept : out_(out) {}

  void bit(BitModel& model, bool one) noexcept {
    const std::uint32_t bound = (range_ >> BitModel::kBits) * model.zero;
    if (one) {
      low_ += bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    model.saw(one);
    normalise();
  }

  // `count` bits of even odds, the highest first.
  void even_bits(std::uint64_t value, unsigned count) noexcept {
    while (count-- > 0) {
      range_ >>= 1;
      if ((value >> count & 1u) != 0) low_ += range_;
      normalise();
    }
  }

  // Nothing may be coded after it.
  void end() noexcept {
    for (int i = 0; i < 5; ++i) shift_out();
  }

 private:
  void normalise() noexcept {
    while (range_ < 1u << 24) {
      range_ <<= 8;
      shift_out();
    }
  }
  // The byte that leaves may still be raised by a carry, and 0xff bytes before it too.
  void shift_out() noexcept {
    if (low_ < 0xff000000u || low_ > 0xffffffffu) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      if (begun_) out_.u8(static_cast<std::uint8_t>(held_ + carry));
      for (; pending_ > 0; --pending_) out_.u8(static_cast<std::uint8_t>(0xffu + carry));
      held_ = static_cast<std::uint8_t>(low_ >> 24);
      begun_ = true;
    } else {
      ++pending_;
    }
    low_ = (low_ & 0x00ffffffu) << 8;
  }

  ByteWriter& out_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffffu;
  std::uint64_t pending_ = 0;
  std::uint8_t held_ = 0;
  bool begun_ = false;
};

// Reads zeros behind the end: any bytes decode to something.
class RangeDecoder {
 public:
  explicit RangeDecoder(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) code_ = code_ << 8 | next();
  }

  bool bit(BitModel& model) noexcept {
    const std::uint32_t bound = (range_ >> BitModel::kBits) * model.zero;
    const bool one = code_ >= bound;
    if (one) {
      code_ -= bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    model.saw(one);
    normalise();
    return one;
  }

  std::uint64_t even_bits(unsigned count) noexcept {
    std::uint64_t value = 0;
    while (count-- > 0) {
      range_ >>= 1;
      const bool one = code_ >= range_;
      if (one) code_ -= range_;
      value = value << 1 | (one ? 1u : 0u);
      normalise();
    }
    return value;
  }

 private:
  void normalise() noexcept {
    while (range_ < 1u << 24) {
      range_ <<= 8;
      code_ = code_ << 8 | next();
    }
  }
  std::uint8_t next() noexcept {
    return at_ < bytes_.size() ? std::to_integer<std::uint8_t>(bytes_[at_++]) : 0;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint32_t range_ = 0xffffffffu, code_ = 0;
};

// A number below 2^bits, coded bit by bit from the highest, each in the context of those before.
template <unsigned bits>
class BitTree {
 public:
  void reset() noexcept {
    for (BitModel& model : models_) model = {};
  }
  void encode(RangeEncoder& out, std::uint32_t value) noexcept {
    std::uint32_t node = 1;
    for (unsigned i = bits; i-- > 0;) {
      const bool one = (value >> i & 1u) != 0;
      out.bit(models_[node], one);
      node = node << 1 | (one ? 1u : 0u);
    }
  }
  std::uint32_t decode(RangeDecoder& in) noexcept {
    std::uint32_t node = 1;
    for (unsigned i = 0; i < bits; ++i) node = node << 1 | (in.bit(models_[node]) ? 1u : 0u);
    return node - (1u << bits);
  }

 private:
  BitModel models_[1u << bits];
};

}  // namespace iotune::patterns
