// A lock that needs no initialisation, no libpthread and no memory. Who waits for it sleeps: it may
// be held over a system call that takes long.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/os/futex.h"
#include "core/os/signal_context.h"

namespace iotune {

// Most locks are free again before a thread could fall asleep. No system call is made meanwhile.
template <typename Try>
bool try_for_a_moment(Try attempt) noexcept {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    if (attempt()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

// Nobody is woken any more once the process has dropped privileges.
inline constexpr timespec kNap = {0, 20'000'000};

// All zero is free.
class SleepLock {
 public:
  constexpr SleepLock() noexcept = default;
  SleepLock(const SleepLock&) = delete;
  SleepLock& operator=(const SleepLock&) = delete;

  bool try_lock() noexcept {
    std::uint32_t none = kFree;
    return word_.compare_exchange_strong(none, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) wait(nullptr);
  }
  // For calls that a signal handler can reach: what the handler interrupted may be what it would
  // wait for, by way of another thread. Nor does anybody wait after a privilege drop. False: not
  // now.
  bool lock_unless_in_handler() noexcept {
    return lock_unless([] { return may_be_in_signal_handler(); });
  }
  template <typename InHandler>
  bool lock_unless(InHandler in_handler) noexcept {
    if (try_lock() || try_for_a_moment([this] { return try_lock(); })) return true;
    if (has_dropped_privileges() || in_handler()) return false;
    wait(nullptr);
    return true;
  }
  // False: still held by another thread after `limit`.
  bool lock_within(const timespec& limit) noexcept { return try_lock() || wait(&limit); }
  // By the thread that holds it, or in a process where that thread does not exist.
  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) wake_one(word_);
  }

 private:
  enum : std::uint32_t { kFree, kHeld, kAwaited };

  // Who has slept cannot know whether others sleep still, and so leaves the word as awaited.
  [[gnu::noinline]] bool wait(const timespec* limit) noexcept {
    if (try_for_a_moment([this] { return try_lock(); })) return true;
    const std::uint64_t end_ns = limit == nullptr ? 0 : monotonic_ns() + nanoseconds(*limit);
    while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      if (limit == nullptr) {
        sleep_while(word_, kAwaited, &kNap);
        continue;
      }
      const std::uint64_t now_ns = monotonic_ns();
      if (now_ns >= end_ns) return false;
      const timespec rest = as_timespec(end_ns - now_ns);
      sleep_while(word_, kAwaited, &rest);
    }
    return true;
  }

  std::atomic<std::uint32_t> word_{kFree};
};

template <class Lock>
class LockGuard {
 public:
  explicit LockGuard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};
using SleepGuard = LockGuard<SleepLock>;

}  // namespace iotune
