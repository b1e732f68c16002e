// Sleeping until a word changes, without libpthread. After a privilege drop nobody sleeps and
// nobody is woken, because both are system calls: sleepers must not rely on being woken.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/os/raw_syscall.h"
#include "core/process/privilege_drop.h"

namespace iotune {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4);

// Returns at once where the word is not `expected`; at times for no reason. After `limit` in any
// case, nullptr: never.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        const timespec* limit = nullptr) noexcept {
  if (has_dropped_privileges()) return;
  raw::call(SYS_futex, raw::word(&word), FUTEX_WAIT_PRIVATE, raw::word(expected), raw::word(limit));
}

inline void wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  if (has_dropped_privileges()) return;
  constexpr long kAll = 0x7fffffff;
  raw::call(SYS_futex, raw::word(&word), FUTEX_WAKE_PRIVATE, kAll);
}

inline void wake_one(const std::atomic<std::uint32_t>& word) noexcept {
  if (has_dropped_privileges()) return;
  raw::call(SYS_futex, raw::word(&word), FUTEX_WAKE_PRIVATE, 1);
}

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

inline std::uint64_t nanoseconds(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

inline timespec as_timespec(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  raw::call(SYS_clock_gettime, CLOCK_MONOTONIC, raw::word(&now));
  return nanoseconds(now);
}

}  // namespace iotune
