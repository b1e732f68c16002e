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

// Differs between threads that live, and is not 0; without thread-local memory.
inline std::uint32_t this_thread() noexcept {
  std::uintptr_t thread = 0;
#if defined(__x86_64__)
  __asm__("mov %%fs:0, %0" : "=r"(thread));
#else
  __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
  return static_cast<std::uint32_t>(thread >> 4) << 1 | 1;
}

// All zero is free. It knows its holder, so that what a longjmp out of a signal handler has left
// held can be given back without the frame that would have done it (release_by_jump).
class SleepLock {
 public:
  constexpr SleepLock() noexcept = default;
  SleepLock(const SleepLock&) = delete;
  SleepLock& operator=(const SleepLock&) = delete;

  bool try_lock() noexcept { return take(this_thread()); }
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
    if ((holder_.exchange(0, std::memory_order_release) & kNobodyWaits) == 0) wake_one(holder_);
  }
  // By this thread.
  bool is_held() const noexcept {
    return (holder_.load(std::memory_order_relaxed) | kNobodyWaits) == this_thread();
  }

 private:
  static constexpr std::uint32_t kNobodyWaits = 1;  // set in this_thread()

  bool take(std::uint32_t as) noexcept {
    std::uint32_t none = 0;
    return holder_.compare_exchange_strong(none, as, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  // Who has slept cannot know whether others sleep still, and so takes it as awaited.
  [[gnu::noinline]] bool wait(const timespec* limit) noexcept {
    if (try_for_a_moment([this] { return try_lock(); })) return true;
    const std::uint64_t end_ns = limit == nullptr ? 0 : monotonic_ns() + nanoseconds(*limit);
    while (!take(this_thread() & ~kNobodyWaits)) {
      std::uint32_t holder = holder_.load(std::memory_order_relaxed);
      const std::uint32_t awaited = holder & ~kNobodyWaits;
      if (holder == 0 || (holder != awaited && !holder_.compare_exchange_strong(holder, awaited))) {
        continue;
      }
      timespec nap = kNap;
      if (limit != nullptr) {
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns >= end_ns) return false;
        nap = as_timespec(end_ns - now_ns);
      }
      sleep_while(holder_, awaited, &nap);
    }
    return true;
  }

  std::atomic<std::uint32_t> holder_{0};
};

// For what is never half changed so that it would matter. A handler that jumps within itself looks
// the same: what it interrupted goes on without the lock, but with what nobody else uses any more.
inline void release_by_jump(SleepLock& lock) noexcept {
  if (lock.is_held()) lock.unlock();
}

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
