#include "tuner/prefetch/signal_context.h"

#include <signal.h>

#include <cstdint>

#include "recorder/preload/raw_syscall.h"

namespace iotune::tuner {
namespace {

namespace raw = recorder::raw;

constexpr int kSignals = 64;
constexpr long kMaskBytes = 8;

// The kernel's own form.
struct Action {
  std::uintptr_t handler;
  unsigned long flags;
#if defined(__x86_64__)
  std::uintptr_t restorer;
#endif
  std::uint64_t mask;
};

// What happens to a program's own mistakes: a handler of these reads no file by a pattern.
bool is_fault(int signal) noexcept {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT || signal == SIGTRAP;
}

}  // namespace

bool may_be_in_signal_handler() noexcept {
  stack_t stack{};
  if (raw::call(SYS_sigaltstack, 0, raw::word(&stack)) != 0 || (stack.ss_flags & SS_ONSTACK) != 0) {
    return true;
  }
  std::uint64_t blocked = 0;
  if (raw::call(SYS_rt_sigprocmask, SIG_BLOCK, 0, raw::word(&blocked), kMaskBytes) != 0) {
    return true;
  }
  for (int signal = 1; signal <= kSignals; ++signal) {
    Action action{};
    if (raw::call(SYS_rt_sigaction, signal, 0, raw::word(&action), kMaskBytes) != 0) continue;
    constexpr std::uintptr_t kDefault = 0, kIgnored = 1;
    if (action.handler == kDefault || action.handler == kIgnored) continue;
    // A handler's own signal is blocked while it runs, unless it asked for the contrary.
    if ((blocked >> (signal - 1) & 1u) != 0) return true;
    if ((action.flags & SA_NODEFER) != 0 && !is_fault(signal)) return true;
  }
  return false;
}

}  // namespace iotune::tuner
