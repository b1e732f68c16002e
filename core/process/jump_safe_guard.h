// A guard of a lock that a longjmp out of a signal handler gives back (process_jumps.cpp): the
// frame that would have released it is gone then. And the same of what is held over a call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/os/held_signals.h"
#include "core/os/sleep_lock.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"

namespace iotune {

enum class Waiting : bool { kAsLongAsItTakes, kNotInHandler };

class JumpSafeGuard {
 public:
  // Of a ProcessLock, or of a SleepLock that a fork wipes with the memory it lies in. `how`:
  // nothing or a Waiting, the signals that are held meanwhile; or a limit.
  template <class Lock, class... How>
  explicit JumpSafeGuard(Lock& lock, const How&... how) noexcept : lock_(lock) {
    if constexpr (std::is_same_v<Lock, ProcessLock>) {
      lock.enlist();
      left_by_jump_ = lock.left_by_jump();
    }
    held_ = take(how...);
    if (!held_) return;
    if (t_thread.guard_count < kMaxGuards) t_thread.guards[t_thread.guard_count] = this;
    ++t_thread.guard_count;
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
  bool take(Waiting waiting = Waiting::kAsLongAsItTakes) noexcept {
    if (waiting == Waiting::kNotInHandler) return lock_.lock_unless_in_handler();
    lock_.lock();
    return true;
  }
  bool take(Waiting waiting, const HeldSignals& signals) noexcept {
    if (waiting != Waiting::kNotInHandler) return take(waiting);
    return lock_.lock_unless([&] { return signals.in_handler(); });
  }
  bool take(const timespec& limit) noexcept { return lock_.lock_within(limit); }

  SleepLock& lock_;
  void (*left_by_jump_)() noexcept = nullptr;
  bool held_ = false;
};

// For what calls that a handler may make can reach: neither a handler nor the end of the thread
// comes between. Only after a privilege drop may a jump still leave it.
class SignalSafeGuard {
 public:
  template <class Lock>
  explicit SignalSafeGuard(Lock& lock, Waiting waiting = Waiting::kAsLongAsItTakes) noexcept
      : guard_(lock, waiting, signals_) {}
  // Gives up after `limit`.
  SignalSafeGuard(ProcessLock& lock, const timespec& limit) noexcept : guard_(lock, limit) {}
  bool held() const noexcept { return guard_.held(); }

 private:
  const HeldSignals signals_;
  JumpSafeGuard guard_;
};

// What a wrapper holds while the program's own call runs, and gives back behind it: a count that
// others read. Where the call is left by a jump, an exception or the end of the thread, the frame
// that would give it back is gone, and the code that notices (process_jumps.cpp, left_frames.cpp)
// does.
//
// The thread's list lies in its own memory: what a jump that nobody noticed leaves there is never
// followed into a stack that is used again.
namespace held {

inline void take_top(ThreadState& thread) noexcept {
  thread.held[thread.held_count - 1].give_back = nullptr;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  --thread.held_count;
}

// Null: a signal came while it was put there, or taken away.
inline void give_back_top(ThreadState& thread) noexcept {
  const HeldOverCall one = thread.held[thread.held_count - 1];
  take_top(thread);
  if (one.give_back != nullptr) one.give_back(one.what);
}

}  // namespace held

// `frame`: an address in the frame that will call take_back(), and no other's. What is held has
// been taken already. Where the list is full a jump leaves it held.
[[gnu::always_inline]] inline void hold_over_call(const void* frame,
                                                  void (*give_back)(std::uintptr_t what) noexcept,
                                                  std::uintptr_t what) noexcept {
  ThreadState& thread = t_thread;
  if (thread.held_count == kMaxHeld) return;
  HeldOverCall& one = thread.held[thread.held_count++];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  one.frame = reinterpret_cast<std::uintptr_t>(frame);
  one.what = what;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  one.give_back = give_back;
}

// Behind the call. True: the caller gives it back; false: that has been done.
inline bool take_back(const void* frame) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(frame);
  ThreadState& thread = t_thread;
  for (unsigned i = thread.held_count; i > 0; --i) {
    if (thread.held[i - 1].frame != wanted) continue;
    // Frames further in are gone, however they were left.
    while (thread.held_count > i) held::give_back_top(thread);
    held::take_top(thread);
    return true;
  }
  return thread.held_count == kMaxHeld;
}

// Gives back what frames below the address `stack` hold, where this thread's stack will end.
inline void leave_held(std::uintptr_t stack) noexcept {
  ThreadState& thread = t_thread;
  while (thread.held_count > 0 && thread.held[thread.held_count - 1].frame < stack) {
    held::give_back_top(thread);
  }
}

}  // namespace iotune
