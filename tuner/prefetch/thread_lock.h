// A SpinLock that tells whose it is: a signal handler that jumps out of the code that holds one
// (longjmp) takes the frame away that would have released it. Whoever knows the lock then releases
// it, and takes what it guards for half changed (the functions that end in _by_jump).
//
// A handler that jumps within itself cannot be told from that: what it interrupted goes on
// afterwards without the lock, but with what nobody else uses any more.
#pragma once

#include <sched.h>

#include <cstdint>

#include "recorder/preload/spin_lock.h"

namespace iotune::tuner {

// Differs between threads that live, and is not 0; without thread-local memory.
inline std::uint32_t this_thread() noexcept {
  std::uintptr_t thread = 0;
#if defined(__x86_64__)
  __asm__("mov %%fs:0, %0" : "=r"(thread));
#else
  __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
  return static_cast<std::uint32_t>(thread >> 4) | 1;
}

// All zero is free.
class ThreadLock {
 public:
  constexpr ThreadLock() noexcept = default;
  ThreadLock(const ThreadLock&) = delete;
  ThreadLock& operator=(const ThreadLock&) = delete;

  void lock() noexcept {
    const std::uint32_t own = this_thread();
    std::uint32_t none = 0;
    while (!__atomic_compare_exchange_n(&owner_, &none, own, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
      none = 0;
      sched_yield();
    }
  }
  void unlock() noexcept { __atomic_store_n(&owner_, 0, __ATOMIC_RELEASE); }
  // By this thread.
  bool is_held() const noexcept {
    return __atomic_load_n(&owner_, __ATOMIC_RELAXED) == this_thread();
  }

 private:
  std::uint32_t owner_ = 0;
};

using ThreadGuard = recorder::LockGuard<ThreadLock>;

// For what is never half changed so that it would matter.
inline void release_by_jump(ThreadLock& lock) noexcept {
  if (lock.is_held()) lock.unlock();
}

}  // namespace iotune::tuner
