// A SpinGuard that a longjmp out of a signal handler gives back (process_jumps.cpp): the frame that
// would have released it is gone then.
#pragma once

#include "recorder/preload/spin_lock.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {

class JumpSafeGuard {
 public:
  explicit JumpSafeGuard(SpinLock& lock) noexcept : lock_(lock) {
    lock_.lock();
    if (t_thread.guard_count < kMaxGuards) t_thread.guards[t_thread.guard_count] = this;
    ++t_thread.guard_count;
  }
  ~JumpSafeGuard() {
    --t_thread.guard_count;
    if (t_thread.guard_count < kMaxGuards) t_thread.guards[t_thread.guard_count] = nullptr;
    lock_.unlock();
  }
  JumpSafeGuard(const JumpSafeGuard&) = delete;
  JumpSafeGuard& operator=(const JumpSafeGuard&) = delete;

  SpinLock& lock() noexcept { return lock_; }

 private:
  SpinLock& lock_;
};

}  // namespace iotune::recorder
