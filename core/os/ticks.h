// Time stamps for wrappers: the processor's counter where it runs at a constant rate, and
// clocks to give it a unit. Ticks are converted to nanoseconds outside the hot path.
#pragma once

#include <time.h>

#include <cstdint>

namespace iotune {

// What time stamps are made of.
// kClock: CLOCK_MONOTONIC nanoseconds, where the counter is not constant over frequency changes and
// sleep states, or forbidden before the program began (PR_SET_TSC).
enum class TickSource : std::uint8_t { kUnknown, kCounter, kClock };
extern TickSource g_tick_source;

std::uint64_t clock_ns(clockid_t clock) noexcept;

inline std::uint64_t counter_now() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

// The first stamp of the process chooses the source: asking the processor at the start of
// every process would cost a virtual machine 2 µs.
std::uint64_t first_or_clock_ticks() noexcept;

[[gnu::always_inline]] inline std::uint64_t ticks_now() noexcept {
  if (__builtin_expect(g_tick_source == TickSource::kCounter, 1)) return counter_now();
  return first_or_clock_ticks();
}

// Nanoseconds = ticks * mult >> kTickShift, for spans up to about an hour at once per call of
// ticks_to_ns (which splits larger ones).
struct TickRate {
  static constexpr unsigned kShift = 24;
  std::uint64_t mult = 1u << kShift;
};

// The clocks of a process at one moment.
struct ClockReading {
  std::uint64_t ticks, monotonic_ns, realtime_ns;
};
ClockReading read_clocks() noexcept;

// The rate between two readings; `fallback` where they are too near to tell (under 1 µs).
TickRate rate_between(const ClockReading& first, const ClockReading& last,
                      TickRate fallback) noexcept;

}  // namespace iotune
