// A guard of a lock that a longjmp out of a signal handler gives back (process_jumps.cpp): the
// frame that would have released it is gone then.
#pragma once

#include "core/os/held_signals.h"
#include "core/os/sleep_lock.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"

namespace iotune {

enum class Waiting : bool { kAsLongAsItTakes, kNotInHandler };

class JumpSafeGuard {
 public:
  explicit JumpSafeGuard(ProcessLock& lock, Waiting waiting = Waiting::kAsLongAsItTakes) noexcept
      : JumpSafeGuard(enlisted(lock), waiting) {
    left_by_jump_ = lock.left_by_jump();
  }
  JumpSafeGuard(ProcessLock& lock, Waiting waiting, const HeldSignals& signals) noexcept
      : JumpSafeGuard(enlisted(lock), waiting, signals) {
    left_by_jump_ = lock.left_by_jump();
  }
  JumpSafeGuard(ProcessLock& lock, const timespec& limit) noexcept
      : JumpSafeGuard(enlisted(lock), limit) {
    left_by_jump_ = lock.left_by_jump();
  }
  // Of a lock that a fork wipes with the memory it lies in.
  explicit JumpSafeGuard(SleepLock& lock, Waiting waiting = Waiting::kAsLongAsItTakes) noexcept
      : lock_(lock) {
    if (waiting == Waiting::kNotInHandler) {
      held_ = lock_.lock_unless_in_handler();
      if (!held_) return;
    } else {
      lock_.lock();
    }
    enter();
  }
  JumpSafeGuard(SleepLock& lock, Waiting waiting, const HeldSignals& signals) noexcept
      : lock_(lock) {
    if (waiting == Waiting::kNotInHandler) {
      held_ = lock_.lock_unless([&] { return signals.in_handler(); });
      if (!held_) return;
    } else {
      lock_.lock();
    }
    enter();
  }
  JumpSafeGuard(SleepLock& lock, const timespec& limit) noexcept
      : lock_(lock), held_(lock_.lock_within(limit)) {
    if (held_) enter();
  }
  ~JumpSafeGuard() {
    if (!held_) return;
    --t_thread.guard_count;
    if (t_thread.guard_count < kMaxGuards) t_thread.guards[t_thread.guard_count] = nullptr;
    lock_.unlock();
  }
  JumpSafeGuard(const JumpSafeGuard&) = delete;
  JumpSafeGuard& operator=(const JumpSafeGuard&) = delete;

  // False only where not every wait was allowed.
  bool held() const noexcept { return held_; }
  // Instead of the destructor, whose frame a jump has taken away.
  void release_by_jump() noexcept {
    if (left_by_jump_ != nullptr) left_by_jump_();
    lock_.unlock();
  }

 private:
  static SleepLock& enlisted(ProcessLock& lock) noexcept {
    lock.enlist();
    return lock;
  }
  void enter() noexcept {
    if (t_thread.guard_count < kMaxGuards) t_thread.guards[t_thread.guard_count] = this;
    ++t_thread.guard_count;
  }

  SleepLock& lock_;
  void (*left_by_jump_)() noexcept = nullptr;
  bool held_ = true;
};

// For what calls that a handler may make can reach: neither a handler nor the end of the thread
// comes between. Only after a narrowing may a jump still leave it.
class SignalSafeGuard {
 public:
  explicit SignalSafeGuard(ProcessLock& lock, Waiting waiting = Waiting::kAsLongAsItTakes) noexcept
      : guard_(lock, waiting, signals_) {}
  // Of a lock that a fork wipes with the memory it lies in.
  explicit SignalSafeGuard(SleepLock& lock, Waiting waiting = Waiting::kAsLongAsItTakes) noexcept
      : guard_(lock, waiting, signals_) {}
  // Gives up after `limit`.
  SignalSafeGuard(ProcessLock& lock, const timespec& limit) noexcept : guard_(lock, limit) {}
  bool held() const noexcept { return guard_.held(); }

 private:
  const HeldSignals signals_;
  JumpSafeGuard guard_;
};

}  // namespace iotune
