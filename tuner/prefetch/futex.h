// Sleeping until a word changes, without libpthread.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "recorder/preload/raw_syscall.h"

namespace iotune::tuner {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4);

// Returns at once where the word is not `expected`; at times for no reason. After `limit` in any
// case, nullptr: never.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        const timespec* limit = nullptr) noexcept {
  recorder::raw::call(SYS_futex, recorder::raw::word(&word), FUTEX_WAIT_PRIVATE,
                      recorder::raw::word(expected), recorder::raw::word(limit));
}

inline void wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  constexpr long kAll = 0x7fffffff;
  recorder::raw::call(SYS_futex, recorder::raw::word(&word), FUTEX_WAKE_PRIVATE, kAll);
}

inline void wake_one(const std::atomic<std::uint32_t>& word) noexcept {
  recorder::raw::call(SYS_futex, recorder::raw::word(&word), FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace iotune::tuner
