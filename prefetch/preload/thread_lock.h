// A lock as SleepLock that tells whose it is: a signal handler that jumps out of the code that
// holds one (longjmp) takes the frame away that would have released it. Code that knows the lock
// then releases it, and takes what it guards for half changed (the functions that end in _by_jump).
//
// A handler that jumps within itself cannot be distinguished from that: what it interrupted goes on
// afterwards without the lock, but with what nobody else uses any more.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/os/sleep_lock.h"

namespace iotune::prefetch {

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

// All zero is free.
class ThreadLock {
 public:
  constexpr ThreadLock() noexcept = default;
  ThreadLock(const ThreadLock&) = delete;
  ThreadLock& operator=(const ThreadLock&) = delete;

  void lock() noexcept {
    const std::uint32_t own = this_thread();
    if (!take(own) && !try_for_a_moment([&] { return take(own); })) wait(own);
  }
  void unlock() noexcept {
    if ((owner_.exchange(0, std::memory_order_release) & kNobodyWaits) == 0) {
      wake_one(owner_);
    }
  }
  // By this thread.
  bool is_held() const noexcept {
    return (owner_.load(std::memory_order_relaxed) | kNobodyWaits) == this_thread();
  }

 private:
  static constexpr std::uint32_t kNobodyWaits = 1;  // set in this_thread()

  bool take(std::uint32_t as) noexcept {
    std::uint32_t none = 0;
    return owner_.compare_exchange_strong(none, as, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // Who has slept cannot know whether others sleep still.
  [[gnu::noinline]] void wait(std::uint32_t own) noexcept {
    while (!take(own & ~kNobodyWaits)) {
      std::uint32_t holder = owner_.load(std::memory_order_relaxed);
      if (holder == 0) continue;
      const std::uint32_t awaited = holder & ~kNobodyWaits;
      if (holder != awaited && !owner_.compare_exchange_strong(holder, awaited)) continue;
      sleep_while(owner_, awaited, &kNap);
    }
  }

  std::atomic<std::uint32_t> owner_{0};
};

using ThreadGuard = LockGuard<ThreadLock>;

// For what is never half changed so that it would matter.
inline void release_by_jump(ThreadLock& lock) noexcept {
  if (lock.is_held()) lock.unlock();
}

}  // namespace iotune::prefetch
