// Time stamps for wrappers: the processor's counter where it is steady, and clocks to give it
// a unit. Ticks are converted to nanoseconds outside the hot path.
#pragma once

#include <time.h>

#include <cstdint>

namespace iotune::recorder {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Where the counter is not constant over frequency changes and sleep states, stamps are
// CLOCK_MONOTONIC nanoseconds.
enum class TickSource : std::uint8_t { kUnknown, kCounter, kClock };
extern TickSource g_tick_source;

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

inline std::uint64_t ticks_now() noexcept {
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

}  // namespace iotune::recorder
