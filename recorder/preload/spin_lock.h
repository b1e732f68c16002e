// A lock that needs no initialisation, no libpthread and no memory. Held for moments, by code
// that OwnCode keeps signal handlers of the same thread out of.
#pragma once

#include <sched.h>

#include "recorder/preload/narrowing.h"

namespace iotune::recorder {

class SpinLock {
 public:
  constexpr SpinLock() noexcept = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() noexcept {
    while (__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE)) {
      if (!is_narrowed()) sched_yield();
    }
  }
  void unlock() noexcept { __atomic_store_n(&held_, false, __ATOMIC_RELEASE); }

 private:
  bool held_ = false;
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
using SpinGuard = LockGuard<SpinLock>;

}  // namespace iotune::recorder
