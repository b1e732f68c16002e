// Whether this thread may be inside of a signal handler. Nobody can be asked; on doubt it is.
#pragma once

#include <signal.h>

#include <cstdint>

#include "core/os/raw_syscall.h"
#include "core/os/system_call_filter.h"

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

// What happens to a program's own mistakes: a handler of these reads no file by a pattern.
inline bool is_fault_signal(int signal) noexcept {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT || signal == SIGTRAP;
}

// Of the kernel's signal set.
constexpr long kSignalSetBytes = 8;

#if defined(__x86_64__)
extern "C" {
extern void* __libc_stack_end __attribute__((weak));  // ld.so's: where the main thread's begins
}

// Whether a frame of a handler with this restorer may lie on the thread's stack: the kernel puts
// the restorer's address where the handler returns to. Looks from `from` on; remains of an old
// frame count as one. The main thread's stack:
[[gnu::noinline, gnu::no_sanitize_address, gnu::no_sanitize_thread]] inline bool may_return_to(
    std::uintptr_t restorer, const void* from) noexcept {
  // Nothing else is mapped so near below the main stack (the kernel leaves 128 MiB for it).
  constexpr std::uintptr_t kMostBytes = std::uintptr_t{64} << 20;
  if (restorer == 0 || &__libc_stack_end == nullptr) return true;
  const auto here = reinterpret_cast<std::uintptr_t>(from) & ~7ul;
  const auto end = reinterpret_cast<std::uintptr_t>(__libc_stack_end) & ~7ul;
  if (here >= end || end - here > kMostBytes) return true;
  for (auto at = here; at < end; at += sizeof restorer) {
    if (*reinterpret_cast<const volatile std::uintptr_t*>(at) == restorer) return true;
  }
  return false;
}
// Another thread's: libc keeps the thread's own block at the upper end of its stack. Where that is
// not so, nor on a coroutine's stack, all up to it is not mapped in one piece, mostly; the kernel
// reads, so that this is an error, and true.
[[gnu::noinline]] inline bool may_return_to_in_thread(std::uintptr_t restorer,
                                                      const void* from) noexcept {
  constexpr std::uintptr_t kMostBytes = std::uintptr_t{64} << 20;
  std::uintptr_t end = 0;
  __asm__("mov %%fs:0, %0" : "=r"(end));
  auto at = reinterpret_cast<std::uintptr_t>(from) & ~7ul;
  if (restorer == 0 || at >= end || end - at > kMostBytes) return true;
  // A program's filter mostly forbids process_vm_readv, and may end the process for it.
  if (has_system_call_filter()) return true;
  const long process = raw::getpid();
  volatile std::uintptr_t words[64];
  bool found = false;
  while (at < end && !found) {
    const std::uintptr_t bytes = end - at < sizeof words ? (end - at) & ~7ul : sizeof words;
    if (bytes == 0) break;
    struct Piece {
      std::uintptr_t at, bytes;
    };
    const Piece here{reinterpret_cast<std::uintptr_t>(&words[0]), bytes}, there{at, bytes};
    if (raw::call(SYS_process_vm_readv, process, raw::word(&here), 1, raw::word(&there), 1) !=
        static_cast<long>(bytes)) {
      return true;
    }
    for (std::uintptr_t i = 0; i < bytes / 8; ++i) {
      found = found || words[i] == restorer;
      words[i] = 0;  // not to be found by a later search
    }
    at += bytes;
  }
  return found;
}
inline bool may_be_its_handler(SignalAction& action, const void* from) noexcept {
  const std::uintptr_t restorer = action.restorer;
  // Not to be found by a later search.
  *static_cast<volatile std::uintptr_t*>(&action.restorer) = 0;
  return may_return_to(restorer, from) && may_return_to_in_thread(restorer, from);
}
#else
inline bool may_be_its_handler(SignalAction&, const void*) noexcept {
  return true;
}
#endif

// Some 70 system calls: for what happens once a process, or before a thread sleeps. Inline, because
// several libraries have it. `blocked`: the signals that the program had blocked.
[[gnu::noinline]] inline bool may_be_in_signal_handler(std::uint64_t blocked) noexcept {
  stack_t stack{};
  if (raw::call(SYS_sigaltstack, 0, raw::word(&stack)) != 0 || (stack.ss_flags & SS_ONSTACK) != 0) {
    return true;
  }
  constexpr int kSignals = 64;
  for (int signal = 1; signal <= kSignals; ++signal) {
    SignalAction action{};
    if (raw::call(SYS_rt_sigaction, signal, 0, raw::word(&action), kSignalSetBytes) != 0) continue;
    constexpr std::uintptr_t kDefault = 0, kIgnored = 1;
    if (action.handler == kDefault || action.handler == kIgnored) continue;
    // A handler's own signal is blocked while it runs, unless it asked for the contrary.
    if ((blocked >> (signal - 1) & 1u) != 0) return true;
    if ((action.flags & SA_NODEFER) != 0 && !is_fault_signal(signal) &&
        may_be_its_handler(action, __builtin_frame_address(0))) {
      return true;
    }
  }
  return false;
}
inline bool may_be_in_signal_handler() noexcept {
  std::uint64_t blocked = 0;
  return raw::call(SYS_rt_sigprocmask, SIG_BLOCK, 0, raw::word(&blocked), kSignalSetBytes) != 0 ||
         may_be_in_signal_handler(blocked);
}

}  // namespace iotune
