#include "recorder/preload/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace iotune::recorder {

TickSource g_tick_source = TickSource::kUnknown;

namespace {

bool counter_is_steady() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;  // the generic timer is constant by architecture
#else
  return false;
#endif
}

}  // namespace

std::uint64_t first_or_clock_ticks() noexcept {
  if (g_tick_source == TickSource::kUnknown) {
    // Threads that come here at once all find the same.
    g_tick_source = counter_is_steady() ? TickSource::kCounter : TickSource::kClock;
  }
  return g_tick_source == TickSource::kCounter ? counter_now() : clock_ns(CLOCK_MONOTONIC);
}

ClockReading read_clocks() noexcept {
  return {ticks_now(), clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME)};
}

TickRate rate_between(const ClockReading& first, const ClockReading& last,
                      TickRate fallback) noexcept {
  const std::uint64_t ticks = last.ticks - first.ticks;
  const std::uint64_t ns = last.monotonic_ns - first.monotonic_ns;
  if (ticks == 0 || ns < 1000) return fallback;
  const auto scaled = (static_cast<unsigned __int128>(ns) << TickRate::kShift) / ticks;
  return {static_cast<std::uint64_t>(scaled)};
}

}  // namespace iotune::recorder
