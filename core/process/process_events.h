// What happens to a process and must be known to all code that keeps a lock, a table or a thread:
// it was copied by a fork, or a library was unloaded. Each enlists itself once, before its state is
// first used, and is called from then on; what was never used costs nothing.
//
// Actions run in any order, so none may rest on another's.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/os/sleep_lock.h"

namespace iotune {

enum class WhenCopied : std::uint8_t {
  kAlways,  // also after a privilege drop: the action makes no system call and opens no file
  kUnlessPrivilegesDropped,  // the copy of a process that dropped privileges records nothing, and
                             // keeps its parent's state
};

// Run in the child of a fork, before it does anything: threads other than the one that forked do
// not exist there, and may have been half-way through anything.
class AfterFork {
 public:
  using Action = void (*)() noexcept;
  constexpr explicit AfterFork(Action action,
                               WhenCopied when = WhenCopied::kUnlessPrivilegesDropped) noexcept
      : action_(action), when_(when) {}
  AfterFork(const AfterFork&) = delete;
  AfterFork& operator=(const AfterFork&) = delete;

  // Any number of times, by any thread, in a signal handler too.
  void enlist() noexcept {
    if (!is_listed_.load(std::memory_order_relaxed)) add();
  }

 private:
  friend void run_after_fork(bool privileges_dropped) noexcept;
  void add() noexcept;

  Action action_;
  AfterFork* next_ = nullptr;
  std::atomic<bool> is_listed_{false};
  WhenCopied when_;
};

// Run where dlclose has taken a provider away, with its number.
class AfterUnload {
 public:
  using Action = void (*)(std::uint16_t provider) noexcept;
  constexpr explicit AfterUnload(Action action) noexcept : action_(action) {}
  AfterUnload(const AfterUnload&) = delete;
  AfterUnload& operator=(const AfterUnload&) = delete;

  void enlist() noexcept {
    if (!is_listed_.load(std::memory_order_relaxed)) add();
  }

 private:
  friend void run_after_unload(std::uint16_t provider) noexcept;
  void add() noexcept;

  Action action_;
  AfterUnload* next_ = nullptr;
  std::atomic<bool> is_listed_{false};
};

// Each library has lists of its own: these functions are hidden.
void run_after_fork(bool privileges_dropped) noexcept;
void run_after_unload(std::uint16_t provider) noexcept;

// A lock that a child of fork finds free, no matter who held it in the parent, and that is given
// back where a signal handler's longjmp leaves the code that holds it (jump_safe_guard.h). Nothing
// in memory that a fork wipes: its place in the list would be gone.
class ProcessLock : public SleepLock {
 public:
  // `when_left`: what it guards may be half changed then. nullptr: that does not matter.
  constexpr explicit ProcessLock(void (*when_left)() noexcept = nullptr) noexcept
      : left_by_jump_(when_left) {}

  void enlist() noexcept {
    if (!is_listed_.load(std::memory_order_relaxed)) add();
  }
  auto left_by_jump() const noexcept { return left_by_jump_; }

 private:
  friend void run_after_fork(bool privileges_dropped) noexcept;
  void add() noexcept;

  void (*left_by_jump_)() noexcept;
  ProcessLock* next_ = nullptr;
  std::atomic<bool> is_listed_{false};
};

}  // namespace iotune
