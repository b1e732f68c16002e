// Which numbers of terms on top of a LoopFinder's stack may be one iteration of a loop: a first
// test of eight lengths at once, by 16 bits of each term's fingerprint. Internal to patterns/.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace iotune::patterns {

// Begins with the lengths 1 to 8; next() goes on to longer ones. The bits are the top ones of the
// fingerprints: the lower ones would not tell multiples of a large power of two apart. A length
// that fails is none; one that passes has to be checked.
class IterationLengths {
 public:
  static constexpr std::uint32_t kAtOnce = 8;

  // Lengths that pass, as numbers from the least of the eight.
  class Lanes {
   public:
    // `halves`: eight numbers of 16 bits, zero or all ones, the last for the least length.
    explicit Lanes(const std::uint64_t (&halves)[2]) noexcept
        : shorter_(halves[1]), longer_(halves[0]) {}

    bool any() const noexcept { return (shorter_ | longer_) != 0; }
    // Of any() alone.
    std::uint32_t take_lowest() noexcept {
      if (shorter_ != 0) return take_from(shorter_);
      return kInHalf + take_from(longer_);
    }

   private:
    static constexpr std::uint32_t kInHalf = 4;
    static constexpr unsigned kBits = 16;

    static std::uint32_t take_from(std::uint64_t& half) noexcept {
      const auto lane = static_cast<std::uint32_t>(std::countl_zero(half)) / kBits;
      half &= ~(~std::uint64_t{0} << (64 - kBits) >> (lane * kBits));
      return lane;
    }

    std::uint64_t shorter_, longer_;
  };

  // Pointers to the bits and the number of parts of the top term; those of the terms below it stand
  // before. And to the bits of every second term below, the nearest last. They are read as far down
  // as lengths are asked for, and kAtOnce further: beyond the bottom any values will do.
  IterationLengths(const std::uint16_t* bits, const std::uint16_t* every_second_bits,
                   const std::uint16_t* parts) noexcept
      : bits_(bits - kAtOnce),
        every_second_bits_(every_second_bits - kAtOnce),
        parts_(parts - kAtOnce),
        top_and_one_(Eight{} + static_cast<std::uint16_t>(*bits + 1)) {}

  Lanes maybe() const noexcept {
    // Equal steps leave no bend but a carry from the bits that are not here, one up or down.
    const Eight below = at(bits_);
    const Eight bend_and_one = top_and_one_ + at(every_second_bits_) - below - below;
    const auto found = (bend_and_one <= 2) | (at(parts_) == lengths_);
    std::uint64_t halves[2];
    std::memcpy(halves, &found, sizeof halves);
    return Lanes(halves);
  }

  void next() noexcept {
    bits_ -= kAtOnce;
    every_second_bits_ -= kAtOnce;
    parts_ -= kAtOnce;
    lengths_ += static_cast<std::uint16_t>(kAtOnce);
  }

 private:
  using Eight = std::uint16_t __attribute__((vector_size(16)));

  static Eight at(const std::uint16_t* place) noexcept {
    Eight eight;
    std::memcpy(&eight, place, sizeof eight);
    return eight;
  }

  const std::uint16_t* bits_;
  const std::uint16_t* every_second_bits_;
  const std::uint16_t* parts_;
  Eight top_and_one_;
  Eight lengths_ = {8, 7, 6, 5, 4, 3, 2, 1};
};

}  // namespace iotune::patterns
