// While one exists this thread's signal handlers wait: none of them jumps out of what is done
// meanwhile, calls into it, or ends the thread in it, as an asynchronous pthread_cancel does.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <initializer_list>

#include "core/os/raw_syscall.h"
#include "core/os/signal_context.h"
#include "core/process/privilege_drop.h"

namespace iotune {

// Two system calls: not for the hot path. After a privilege drop nothing is held.
class HeldSignals {
 public:
  HeldSignals() noexcept {
    if (has_dropped_privileges()) return;
    // A fault must not wait: with its signal held the kernel would end the process.
    std::uint64_t held = ~std::uint64_t{0};
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
      held &= ~(std::uint64_t{1} << (signal - 1));
    }
    holds_ = raw::call(SYS_rt_sigprocmask, SIG_BLOCK, raw::word(&held), raw::word(&before_),
                       kSignalSetBytes) == 0;
  }
  // Also where another thread has dropped privileges meanwhile, which waits for this
  // (PrivilegeDropCall).
  ~HeldSignals() {
    if (!holds_) return;
    raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::word(&before_), 0, kSignalSetBytes);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Whether the program is in a handler of its own; see may_be_in_signal_handler.
  bool in_handler() const noexcept { return !holds_ || may_be_in_signal_handler(before_); }

 private:
  bool holds_ = false;
  std::uint64_t before_ = 0;
};

}  // namespace iotune
