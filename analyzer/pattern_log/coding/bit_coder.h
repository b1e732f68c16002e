// An adaptive binary range coder of which writer and reader share their models: code that is
// templated on the coder describes a format once. patterns/range_coder.h is its elder brother in
// the preload; here small outputs count: models learn fast at first (as 1/n), and the end takes
// a byte or two. Bits of which nothing is known stand beside, written from the back to the front,
// so that neither part needs a length.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace iotune::analyzer::pattern_log {

// How likely a bit is one, of 2^15.
class Bit {
 public:
  static constexpr unsigned kBits = 15;

  constexpr Bit() = default;
  // Starts as if it had been seen: one of `of` bits was set.
  static constexpr Bit rare(unsigned of) noexcept { return Bit((1U << kBits) / of); }
  static constexpr Bit frequent(unsigned of) noexcept {
    return Bit((1U << kBits) - (1U << kBits) / of);
  }
  // As if set in `ones` of `all` cases.
  static constexpr Bit expecting(std::uint64_t ones, std::uint64_t all) noexcept {
    constexpr std::uint64_t kEdge = 96;
    const std::uint64_t one = all == 0 ? 1U << (kBits - 1) : (ones << kBits) / all;
    return Bit(static_cast<unsigned>(std::clamp<std::uint64_t>(one, kEdge, (1U << kBits) - kEdge)));
  }

  std::uint32_t one() const noexcept { return one_; }
  void saw(bool set) noexcept {
    const int target = set ? (1 << kBits) - kLeast : kLeast;
    const int step = (target - static_cast<int>(one_)) * kRates[seen_] / (1 << 16);
    one_ = static_cast<std::uint16_t>(static_cast<int>(one_) + step);
    if (seen_ + 1U < kRates.size()) ++seen_;
  }

 private:
  explicit constexpr Bit(unsigned one) noexcept : one_(static_cast<std::uint16_t>(one)), seen_(1) {}

  static constexpr int kLeast = 24;
  static constexpr auto kRates = [] {
    std::array<int, 60> rates{};
    for (unsigned n = 0; n < rates.size(); ++n) {
      rates[n] = static_cast<int>(65536.0 / (static_cast<double>(n) + 1.6));
    }
    return rates;
  }();

  std::uint16_t one_ = 1U << (kBits - 1);
  std::uint8_t seen_ = 0;
};

class BitWriter {
 public:
  static constexpr bool kWrites = true;

  // The first four bits are to be `mark`, not 15.
  explicit BitWriter(unsigned mark) noexcept : low_(std::uint64_t{mark} << 28U) {}

  bool bit(Bit& model, bool set) {
    const std::uint32_t bound = (range_ >> Bit::kBits) * model.one();
    if (set) {
      range_ = bound;
    } else {
      low_ += bound;
      range_ -= bound;
    }
    model.saw(set);
    normalise();
    return set;
  }

  // `count` bits, all equally likely; count <= 16.
  std::uint32_t even_bits(std::uint32_t value, unsigned count) {
    range_ >>= count;
    low_ += std::uint64_t{value} * range_;
    normalise();
    return value;
  }

  // `count` low bits of a value as they are; count <= 56.
  std::uint64_t raw(std::uint64_t value, unsigned count) {
    value &= (std::uint64_t{1} << count) - 1;
    if (count == 0) return 0;
    raw_all(&value, 1, count);
    return value;
  }

  // The same of so many values.
  void raw_all(const std::uint64_t* values, std::size_t size, unsigned count) {
    if (count == 0) return;
    if (raw_.size() < raw_size_ + 8 * size) raw_.resize(2 * raw_size_ + 8 * size + 64);
    // What is written may be anything to the compiler: only locals stay in registers.
    std::byte* to = raw_.data() + raw_size_;
    std::uint64_t word = raw_word_;
    unsigned bits = raw_bits_;
    const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t value = values[i] & mask;
      word |= value << bits;
      bits += count;
      if (bits < 64) continue;
      store(to, word);
      to += 8;
      bits -= 64;
      word = value >> (count - bits);  // count > bits, as they were below 64
    }
    raw_size_ = static_cast<std::size_t>(to - raw_.data());
    raw_word_ = word;
    raw_bits_ = bits;
  }

  // Closes the writer; bytes() is then complete. A reader takes zeros behind the end.
  void end() {
    raw_.resize(raw_size_ + 8);
    for (; raw_bits_ > 0; raw_bits_ -= std::min(raw_bits_, 8U)) {
      raw_[raw_size_++] = static_cast<std::byte>(raw_word_);
      raw_word_ >>= 8U;
    }
    for (unsigned zeros = 24;; zeros -= 8) {
      const std::uint64_t mask = (std::uint64_t{1} << zeros) - 1;
      const std::uint64_t value = (low_ + mask) & ~mask;
      if (value - low_ >= range_) continue;
      low_ = value;
      break;
    }
    for (int i = 0; i < 5; ++i) shift_out();
    if (raw_size_ == 0) {
      while (size_ > 0 && bytes_[size_ - 1] == std::byte{0}) --size_;
    }
    bytes_.resize(size_ + raw_size_);
    std::byte* to = bytes_.data() + size_;
    std::size_t left = raw_size_;
    for (; left >= 8; left -= 8, to += 8) {
      for (unsigned i = 0; i < 8; ++i) to[i] = raw_[left - 1 - i];
    }
    while (left > 0) *to++ = raw_[--left];
  }

  std::vector<std::byte> take() noexcept { return std::move(bytes_); }
  bool failed() const noexcept { return false; }
  void fail() noexcept {}

 private:
  static void store(std::byte* to, std::uint64_t word) noexcept {
    for (unsigned i = 0; i < 8; ++i) to[i] = static_cast<std::byte>(word >> 8U * i);
  }
  void normalise() {
    while (range_ < 1U << 24U) {
      range_ <<= 8U;
      shift_out();
    }
  }
  // The byte that leaves may still be raised by a carry, and 0xff bytes before it too.
  void shift_out() {
    if (bytes_.size() < size_ + pending_ + 1) bytes_.resize(2 * (size_ + pending_) + 64);
    if (low_ < 0xff000000U || low_ > 0xffffffffU) {
      const auto carry = static_cast<unsigned>(low_ >> 32U);
      if (begun_) bytes_[size_++] = static_cast<std::byte>(held_ + carry);
      for (; pending_ > 0; --pending_) bytes_[size_++] = static_cast<std::byte>(0xffU + carry);
      held_ = static_cast<std::uint8_t>(low_ >> 24U);
      begun_ = true;
    } else {
      ++pending_;
    }
    low_ = (low_ & 0x00ffffffU) << 8U;
  }

  std::vector<std::byte> bytes_;  // room for more than size_
  std::size_t size_ = 0;
  std::uint64_t low_;
  std::uint32_t range_ = 1U << 28U;
  std::uint64_t pending_ = 0;
  std::uint8_t held_ = 0;
  bool begun_ = false;
  std::vector<std::byte> raw_;  // backwards; room for more than raw_size_
  std::size_t raw_size_ = 0;
  std::uint64_t raw_word_ = 0;
  unsigned raw_bits_ = 0;
};

// Counts what would be written, in 1/256 bit, and changes no model.
class BitCost {
 public:
  static constexpr bool kWrites = true;

  bool bit(const Bit& model, bool set) noexcept {
    const std::uint32_t one = model.one();
    cost_ += kCosts[(set ? one : (1U << Bit::kBits) - one) >> kDropped];
    return set;
  }
  std::uint32_t even_bits(std::uint32_t value, unsigned count) noexcept {
    cost_ += std::uint64_t{256} * count;
    return value;
  }
  std::uint64_t cost() const noexcept { return cost_; }
  bool failed() const noexcept { return false; }
  void fail() noexcept {}

 private:
  static constexpr unsigned kDropped = 5;
  // -256 · log2(x / 1024), from eight squarings of x scaled to 1 … 2.
  static constexpr auto kCosts = [] {
    std::array<std::uint16_t, (1U << (Bit::kBits - kDropped)) + 1> costs{};
    for (unsigned x = 1; x < costs.size(); ++x) {
      unsigned whole = 0;
      double rest = x;
      for (; rest >= 2; rest /= 2) ++whole;
      unsigned log = whole * 256;
      for (unsigned digit = 128; digit > 0; digit /= 2) {
        rest *= rest;
        if (rest < 2) continue;
        rest /= 2;
        log += digit;
      }
      costs[x] = static_cast<std::uint16_t>((Bit::kBits - kDropped) * 256 - log);
    }
    costs[0] = costs[1];
    return costs;
  }();
  std::uint64_t cost_ = 0;
};

class BitReader {
 public:
  static constexpr bool kWrites = false;

  BitReader(std::span<const std::byte> bytes, unsigned mark) noexcept : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) code_ = code_ << 8U | next();
    if (code_ >> 28U != mark) failed_ = true;
    code_ &= range_ - 1;
  }

  bool bit(Bit& model, bool = false) noexcept {
    const std::uint32_t bound = (range_ >> Bit::kBits) * model.one();
    const bool set = code_ < bound;
    if (set) {
      range_ = bound;
    } else {
      code_ -= bound;
      range_ -= bound;
    }
    model.saw(set);
    normalise();
    return set;
  }

  std::uint32_t even_bits(std::uint32_t, unsigned count) noexcept {
    range_ >>= count;
    std::uint32_t value = code_ / range_;
    if (value >> count != 0) {
      value = (1U << count) - 1;
      failed_ = true;
    }
    code_ -= value * range_;
    normalise();
    return value;
  }

  std::uint64_t raw(std::uint64_t, unsigned count) noexcept {
    while (raw_bits_ < count) {
      if (raw_used_ == bytes_.size()) {
        failed_ = true;
        return 0;
      }
      raw_word_ |= std::to_integer<std::uint64_t>(bytes_[bytes_.size() - ++raw_used_]) << raw_bits_;
      raw_bits_ += 8;
    }
    const std::uint64_t value = raw_word_ & ((std::uint64_t{1} << count) - 1);
    raw_word_ >>= count;
    raw_bits_ -= count;
    return value;
  }

  // Something that the writer would not have written was read, or far more than there is.
  bool failed() const noexcept { return failed_; }
  void fail() noexcept { failed_ = true; }

 private:
  void normalise() noexcept {
    while (range_ < 1U << 24U) {
      range_ <<= 8U;
      code_ = code_ << 8U | next();
    }
  }
  std::uint8_t next() noexcept {
    if (at_ < bytes_.size()) return std::to_integer<std::uint8_t>(bytes_[at_++]);
    // Trailing zeros were cut off, but what they decode to ends soon.
    if (++beyond_ > kMostBeyond) failed_ = true;
    return 0;
  }

  static constexpr std::size_t kMostBeyond = 1U << 16U;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0, beyond_ = 0, raw_used_ = 0;
  std::uint64_t raw_word_ = 0;
  unsigned raw_bits_ = 0;
  std::uint32_t range_ = 1U << 28U, code_ = 0;
  bool failed_ = false;
};

}  // namespace iotune::analyzer::pattern_log
