// What comes next in the order of calls, as far as what came before tells it: a program goes round,
// and few calls differ from one round to the next. The writing and the reading side ask alike, so
// that only what was expected wrongly is stored (FORMAT.md, "Order"). Part of the preload.
//
// Prediction by what followed the same context before, of the longer of two contexts that is known;
// as in PPM (Cleary and Witten, 1984), without probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace iotune::recorder {

// Calls of one stream, or of streams that take turns, in a row.
struct OrderPair {
  std::uint64_t what;
  std::uint64_t calls;  // > 0

  bool operator==(const OrderPair&) const noexcept = default;
};

class OrderPredictor {
 public:
  // Streams are numbered in the order in which they come first: what is no less than
  // `first_turns` is none.
  void reset(std::uint64_t first_turns) noexcept {
    std::memset(static_cast<void*>(this), 0, sizeof *this);
    first_turns_ = first_turns;
  }

  OrderPair expected() const noexcept {
    const Follower& longer = longer_[slot(kLonger)];
    const Follower& known = longer.calls != 0 ? longer : shorter_[slot(kShorter)];
    // Before anything is known, and often later, a stream that was not yet met.
    if (known.what == kNewStream) return {streams_, known.calls == 0 ? 1 : known.calls};
    return {known.what - 1, known.calls};
  }

  void take(OrderPair pair) noexcept {
    const bool is_new = pair.what == streams_;
    const Follower follower{is_new ? kNewStream : static_cast<std::uint32_t>(pair.what) + 1,
                            static_cast<std::uint32_t>(pair.calls)};
    longer_[slot(kLonger)] = follower;
    shorter_[slot(kShorter)] = follower;
    history_ = history_ << kSymbolBits | (is_new ? kNewSymbol : pair.what % kNewSymbol);
    if (pair.what >= streams_ && pair.what < first_turns_) streams_ = pair.what + 1;
  }

 private:
  // Calls without a number: nothing followed yet.
  struct Follower {
    std::uint32_t what;  // and one
    std::uint32_t calls;
  };
  static constexpr std::uint32_t kNewStream = 0;
  static constexpr unsigned kSymbolBits = 10, kSlotBits = 10;
  static constexpr std::uint64_t kNewSymbol = (1U << kSymbolBits) - 1;
  // Symbols of a context.
  static constexpr unsigned kShorter = 2, kLonger = 6;

  std::size_t slot(unsigned symbols) const noexcept {
    const std::uint64_t context = history_ << (64 - symbols * kSymbolBits);
    return context * 0x9e3779b97f4a7c15U >> (64 - kSlotBits);
  }

  std::uint64_t first_turns_, streams_, history_;
  Follower shorter_[1U << kSlotBits], longer_[1U << kSlotBits];
};

}  // namespace iotune::recorder
