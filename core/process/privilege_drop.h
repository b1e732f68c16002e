// A program may drop privileges: system calls (seccomp), the processor's counter (PR_SET_TSC), its
// root or user, its limits. From that moment on iotune does nothing that the program does not do
// itself: no system call, no new memory, no file. What was recorded is handed over before; nothing
// is recorded afterwards (kSealed in thread_state.h).
//
// A filter that the process inherited at its start (containers) is no privilege drop.
#pragma once

namespace iotune {

// Set once and for the whole process, even where one thread alone gave up rights. Inline, because
// locks and private memory are also used by a library of its own, which has its own copy.
__attribute__((visibility("hidden"))) inline constinit bool g_privileges_dropped = false;

// True: iotune makes no system call, maps no memory and waits for no lock.
inline bool has_dropped_privileges() noexcept {
  return __builtin_expect(__atomic_load_n(&g_privileges_dropped, __ATOMIC_RELAXED), 0);
}

}  // namespace iotune
