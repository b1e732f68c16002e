// Whether this thread may be inside of a signal handler: on an alternate stack, or while a signal
// is blocked that has a handler.
#pragma once

#include <signal.h>

#include <cstdint>

#include "core/os/raw_syscall.h"

namespace iotune {

// The kernel's own form of what a signal does.
struct SignalAction {
  std::uintptr_t handler;
  unsigned long flags;
#if defined(__x86_64__)
  std::uintptr_t restorer;
#endif
  std::uint64_t mask;
};

// Of the kernel's signal set.
constexpr long kSignalSetBytes = 8;

// Two system calls, and one for each signal that is blocked. A handler's own signal is blocked
// while it runs; one that asked for the contrary (SA_NODEFER) is not noticed. Inline, because
// several libraries have it. `blocked`: the signals that the program had blocked.
[[gnu::noinline]] inline bool may_be_in_signal_handler(std::uint64_t blocked) noexcept {
  stack_t stack{};
  if (raw::call(SYS_sigaltstack, 0, raw::word(&stack)) != 0 || (stack.ss_flags & SS_ONSTACK) != 0) {
    return true;
  }
  constexpr int kSignals = 64;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((blocked >> (signal - 1) & 1u) == 0) continue;
    SignalAction action{};
    if (raw::call(SYS_rt_sigaction, signal, 0, raw::word(&action), kSignalSetBytes) != 0) continue;
    constexpr std::uintptr_t kDefault = 0, kIgnored = 1;
    if (action.handler != kDefault && action.handler != kIgnored) return true;
  }
  return false;
}
inline bool may_be_in_signal_handler() noexcept {
  std::uint64_t blocked = 0;
  return raw::call(SYS_rt_sigprocmask, SIG_BLOCK, 0, raw::word(&blocked), kSignalSetBytes) != 0 ||
         may_be_in_signal_handler(blocked);
}

}  // namespace iotune
