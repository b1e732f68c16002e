// Models of numbers over bit_coder.h. Each `code` writes its argument, or reads and returns it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include "analyzer/pattern_log/coding/bit_coder.h"
#include "patterns/bytes.h"

namespace iotune::analyzer::pattern_log {

// A number below 2^bits, each bit in the context of those before it.
template <unsigned bits>
class Tree {
 public:
  using Weights = std::array<std::uint16_t, 1U << bits>;

  constexpr Tree() = default;
  // Expects each number as often as its weight says.
  explicit constexpr Tree(const Weights& weights) noexcept {
    std::array<std::uint64_t, 2U << bits> sums{};
    for (unsigned i = 0; i < weights.size(); ++i) sums[weights.size() + i] = weights[i];
    for (unsigned node = (1U << bits) - 1; node > 0; --node) {
      sums[node] = sums[std::size_t{2} * node] + sums[2 * node + 1];
      nodes_[node] = Bit::expecting(sums[2 * node + 1], sums[node]);
    }
  }

  template <class Coder>
  unsigned code(Coder& coder, unsigned value) {
    unsigned node = 1;
    for (unsigned i = bits; i-- > 0;) {
      node = node << 1U | (coder.bit(nodes_[node], (value >> i & 1U) != 0) ? 1U : 0U);
    }
    return node - (1U << bits);
  }

 private:
  std::array<Bit, 1U << bits> nodes_{};
};

// `count` low bits of a value, all equally likely.
template <class Coder>
std::uint64_t code_even_bits(Coder& coder, std::uint64_t value, unsigned count) {
  std::uint64_t made = 0;
  while (count > 0) {
    const unsigned now = count < 16 ? count : 16;
    count -= now;
    const auto piece = static_cast<std::uint32_t>(value >> count & ((1U << now) - 1));
    made = made << now | coder.even_bits(piece, now);
  }
  return made;
}

// How large a number is expected to be before one was seen. A log may be one nest, of which each
// number is met once: what is expected is then most of what it costs.
// Constants, as a model is made by copying: to compute them takes as long as to write a short log.
namespace expected {

// What there is mostly one or two of: parts of a body, terms, forms, how many times a span.
inline constexpr Tree<7> kFew{[] {
  Tree<7>::Weights weights{};
  for (unsigned length = 0; length <= 64; ++length) {
    weights[length] =
        static_cast<std::uint16_t>(length == 0 ? 512 : 4 + (4096U >> (length < 12 ? length : 12)));
  }
  return weights;
}()};
// Iterations, ranks.
inline constexpr Tree<7> kCount{[] {
  Tree<7>::Weights weights{};
  for (unsigned length = 0; length <= 64; ++length) {
    weights[length] = length < 2     ? 16
                      : length <= 7  ? 200
                      : length <= 11 ? 100
                      : length <= 17 ? 40
                      : length <= 24 ? 8
                                     : 1;
  }
  return weights;
}()};
// Characters of a name: many logs are about one thing that needs none.
inline constexpr Tree<7> kNameLength{[] {
  Tree<7>::Weights weights{};
  for (unsigned length = 0; length <= 64; ++length) {
    weights[length] = length == 0 ? 400 : length >= 3 && length <= 8 ? 80 : 4;
  }
  return weights;
}()};
// Offsets, strides and lengths.
inline constexpr Tree<7> kBytes{[] {
  Tree<7>::Weights weights{};
  for (unsigned length = 0; length <= 64; ++length) {
    weights[length] = length < 3     ? 30
                      : length <= 9  ? 40
                      : length <= 21 ? 100
                      : length <= 28 ? 60
                      : length <= 40 ? 30
                                     : 3;
  }
  return weights;
}()};
// How many zeros a number ends with: half of all are even by chance, others are round.
inline constexpr Tree<6> kZeros{[] {
  Tree<6>::Weights weights{};
  for (unsigned zeros = 0; zeros < 64; ++zeros) {
    weights[zeros] =
        static_cast<std::uint16_t>((2048U >> (zeros < 11 ? zeros : 11)) + (zeros < 24 ? 160 : 8));
  }
  return weights;
}()};

// The place among the numbers met last.
inline constexpr Tree<4> kMetPlace{{40, 24, 16, 12, 10, 8, 7, 6, 5, 5, 4, 4, 3, 3, 3, 3}};

}  // namespace expected

// Any unsigned number: its length in bits, how many zeros it ends with, and what is between. Much
// of what is asked of files is a small number times a power of two.
class Number {
 public:
  // `length` outlives it: it is copied when a number is first coded, as a short log codes none of
  // most sorts.
  explicit Number(const Tree<7>& length = expected::kFew) noexcept : expected_(&length) {}
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  template <class Coder>
  std::uint64_t code(Coder& coder, std::uint64_t value) {
    if (expected_ != nullptr) {
      std::construct_at(&length_, *std::exchange(expected_, nullptr));
      std::construct_at(&zeros_, expected::kZeros);
    }
    const unsigned length = length_.code(coder, static_cast<unsigned>(std::bit_width(value)));
    if (length > 64) {
      coder.fail();
      return 0;
    }
    if (length < 2) return length;
    const unsigned most = length - 1;
    const std::uint64_t top = std::uint64_t{1} << most;
    if (length < 4) return top | code_even_bits(coder, value, most);
    if (coder.bit(power_, value == top)) return top;
    const unsigned zeros = zeros_.code(coder, static_cast<unsigned>(std::countr_zero(value)) & 63U);
    if (zeros >= most) {
      coder.fail();
      return 0;
    }
    const std::uint64_t middle = code_even_bits(coder, value >> (zeros + 1), most - zeros - 1);
    return top | (middle << 1U | 1U) << zeros;
  }

 private:
  const Tree<7>* expected_;  // nullptr: was copied
  Bit power_ = Bit::rare(4);
  // Not initialized before.
  union {
    Tree<7> length_;
  };
  union {
    Tree<6> zeros_;
  };
};

class SignedNumber {
 public:
  explicit SignedNumber(const Tree<7>& length = expected::kBytes) noexcept : magnitude_(length) {}

  template <class Coder>
  std::uint64_t code(Coder& coder, std::uint64_t value) {
    const bool negative = coder.bit(negative_, static_cast<std::int64_t>(value) < 0);
    const std::uint64_t size = magnitude_.code(coder, negative ? 0 - value : value);
    return negative ? 0 - size : size;
  }

 private:
  Bit negative_ = Bit::rare(8);
  Number magnitude_;
};

// The numbers that were met last, the latest first.
class RecentNumbers {
 public:
  static constexpr unsigned kSize = 16;

  int find(std::uint64_t value) const noexcept {
    for (unsigned i = 0; i < kSize; ++i) {
      if (values_[i] == value) return static_cast<int>(i);
    }
    return -1;
  }
  std::uint64_t at(unsigned place) const noexcept { return values_[place]; }
  void met(std::uint64_t value) noexcept {
    unsigned place = 0;
    while (place + 1 < kSize && values_[place] != value) ++place;
    for (; place > 0; --place) values_[place] = values_[place - 1];
    values_[0] = value;
  }

 private:
  std::array<std::uint64_t, kSize> values_{};
};

// A value of one role (a length, a count, …): one of a few guesses, or one met lately in any role,
// or itself.
class Value {
 public:
  static constexpr unsigned kGuesses = 4;

  // `right`: whether the first guess is.
  explicit Value(const Tree<7>& length = expected::kBytes, Bit right = Bit()) noexcept
      : number_(length) {
    for (auto& bits : right_) bits[0] = right;
  }

  template <class Coder>
  std::uint64_t code(Coder& coder, std::uint64_t value, std::span<const std::uint64_t> guesses,
                     RecentNumbers& recent) {
    const unsigned history = history_;
    history_ = static_cast<std::uint8_t>((history << 1U | 1U) & 3U);
    for (std::size_t g = 0; g < guesses.size() && g < kGuesses; ++g) {
      bool again = false;
      for (std::size_t k = 0; k < g; ++k) again = again || guesses[k] == guesses[g];
      if (again) continue;
      if (coder.bit(right_[history][g], Coder::kWrites && value == guesses[g])) {
        if (g == 0) history_ &= 2U;
        return guesses[g];
      }
    }
    const int place = Coder::kWrites ? recent.find(value) : -1;
    if (coder.bit(met_, place >= 0)) {
      value = recent.at(place_.code(coder, static_cast<unsigned>(place < 0 ? 0 : place)));
    } else {
      value = number_.code(coder, value);
    }
    recent.met(value);
    return value;
  }
  template <class Coder>
  std::uint64_t code(Coder& coder, std::uint64_t value,
                     std::initializer_list<std::uint64_t> guesses, RecentNumbers& recent) {
    return code(coder, value, std::span(guesses.begin(), guesses.size()), recent);
  }

 private:
  std::array<std::array<Bit, kGuesses>, 4> right_{};
  std::uint8_t history_ = 0;  // of the last two, a bit each: was the first guess wrong?
  Bit met_ = Bit::rare(6);
  Tree<4> place_ = expected::kMetPlace;
  SignedNumber number_;
};

}  // namespace iotune::analyzer::pattern_log
