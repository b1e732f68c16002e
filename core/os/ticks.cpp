#include "core/os/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <gnu/libc-version.h>
#include <sys/prctl.h>

#include <atomic>

#include "core/link/elf_symbols.h"
#include "core/link/loaded_objects.h"
#include "core/os/raw_syscall.h"

namespace iotune {

TickSource g_tick_source = TickSource::kUnknown;

namespace {

// libc's clock_gettime reads the counter as well.
bool g_counter_forbidden = false;

// By PR_SET_TSC before the program was executed.
bool counter_was_forbidden() noexcept {
#if defined(__x86_64__)
  int mode = PR_TSC_ENABLE;
  return raw::call(SYS_prctl, PR_GET_TSC, raw::word(&mode)) == 0 && mode == PR_TSC_SIGSEGV;
#else
  return false;
#endif
}

bool counter_is_invariant() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;  // the generic timer is constant by architecture
#else
  return false;
#endif
}

using ReadClock = int (*)(clockid_t clock, timespec* now);

// libc's own: another preload (libfaketime) may tell the program another time, or let it stand
// still, which is nothing to wait for and no time of a run.
ReadClock clock_of_libc() noexcept {
  static constinit std::atomic<ReadClock> known{nullptr};
  ReadClock found = known.load(std::memory_order_acquire);
  if (found == nullptr) {
    // Nobody has a reason to define this one as well.
    const void* const in_libc = reinterpret_cast<const void*>(&gnu_get_libc_version);
    const LoadedObject* const libc = object_at(in_libc);
    bool indirect = false;
    if (libc != nullptr) {
      void* const own = symbol_in(*libc, SymbolName("clock_gettime"), indirect);
      if (!indirect) found = reinterpret_cast<ReadClock>(own);
    }
    if (found == nullptr) found = clock_gettime;
    known.store(found, std::memory_order_release);
  }
  return found;
}

}  // namespace

// The true time, whatever another preload tells the program.
std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  if (g_counter_forbidden) {
    raw::call(SYS_clock_gettime, clock, raw::word(&now));
  } else {
    clock_of_libc()(clock, &now);
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t first_or_clock_ticks() noexcept {
  switch (g_tick_source) {
    case TickSource::kUnknown:
      // Threads that come here at once all find the same.
      if (counter_was_forbidden()) g_counter_forbidden = true;
      g_tick_source = counter_is_invariant() && !g_counter_forbidden ? TickSource::kCounter
                                                                     : TickSource::kClock;
      return first_or_clock_ticks();
    case TickSource::kCounter:
      return counter_now();
    case TickSource::kClock:
      break;
  }
  return clock_ns(CLOCK_MONOTONIC);
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

}  // namespace iotune
