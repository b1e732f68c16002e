// The times of many calls in little room (FORMAT.md, "Coded times"): starts on a grid of
// kStartGrid_ns, durations in sixteenths of an octave. What is read back is within
// kStartGrid_ns / 2 of the start and 1/32 of the duration. The same code writes and reads; part
// of the preload.
#pragma once

#include <bit>
#include <cstdint>

#include "patterns/range_coder.h"

namespace iotune::recorder {

inline constexpr std::uint64_t kStartGrid_ns = 1024;
inline constexpr std::uint8_t kTimesExact = 0, kTimesCoded = 1;

// Durations below 32 as they are, above with five significant bits.
constexpr std::uint32_t duration_class(std::uint64_t ns) noexcept {
  if (ns < 32) return static_cast<std::uint32_t>(ns);
  const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 5;
  return (shift << 4) + static_cast<std::uint32_t>(ns >> shift);
}
// The middle of a class.
constexpr std::uint64_t duration_of_class(std::uint32_t number) noexcept {
  if (number < 32) return number;
  const unsigned shift = (number >> 4) - 1;
  const std::uint64_t least = std::uint64_t{16 + (number & 15)} << shift;
  return least + ((std::uint64_t{1} << shift) >> 1);
}

// The grid point of a start; calls that follow each other differ by few.
constexpr std::int64_t start_point(std::uint64_t ns_after_base) noexcept {
  return static_cast<std::int64_t>((ns_after_base + kStartGrid_ns / 2) / kStartGrid_ns);
}

// The models of one batch. A few KB: in the scratch memory of the thread that encodes, made anew
// for each batch.
class TimeModels {
 public:
  static constexpr unsigned kContexts = 8;  // streams; those behind share the last

  void reset() noexcept {
    for (Context& context : contexts_) {
      context.step_bits.reset();
      context.back = {};
      context.duration.reset();
    }
  }

  void encode(patterns::RangeEncoder& out, std::uint32_t stream, std::int64_t steps,
              std::uint64_t duration_ns) noexcept {
    Context& context = contexts_[stream < kContexts ? stream : kContexts - 1];
    // A call around others is written behind them, with an earlier start.
    const bool back = steps < 0;
    const std::uint64_t size =
        back ? 0 - static_cast<std::uint64_t>(steps) : static_cast<std::uint64_t>(steps);
    const auto bits = static_cast<std::uint32_t>(std::bit_width(size));
    context.step_bits.encode(out, bits);
    if (bits > 1) out.even_bits(size & ((std::uint64_t{1} << (bits - 1)) - 1), bits - 1);
    if (bits > 0) out.bit(context.back, back);
    context.duration.encode(out, duration_class(duration_ns));
  }

  void decode(patterns::RangeDecoder& in, std::uint32_t stream, std::int64_t& steps,
              std::uint64_t& duration_ns) noexcept {
    Context& context = contexts_[stream < kContexts ? stream : kContexts - 1];
    const std::uint32_t bits = context.step_bits.decode(in) & 63;
    std::uint64_t size = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
    if (bits > 1) size |= in.even_bits(bits - 1);
    const bool back = bits > 0 && in.bit(context.back);
    steps = static_cast<std::int64_t>(back ? 0 - size : size);
    duration_ns = duration_of_class(context.duration.decode(in));
  }

 private:
  struct Context {
    patterns::BitTree<6> step_bits;
    patterns::BitModel back;
    patterns::BitTree<10> duration;
  };
  Context contexts_[kContexts];
};

}  // namespace iotune::recorder
