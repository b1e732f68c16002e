// A stack of iotune's own, for work that needs kilobytes: a signal handler may run on an alternate
// stack of SIGSTKSZ, of which the kernel's frame has taken a third already.
#pragma once

namespace iotune {

// A system call.
bool on_small_alternate_stack() noexcept;

// After a privilege drop it is not used: it may be protected then, and be writable again if that
// failed.
void protect_own_stack(bool protects) noexcept;

// Calls `run(context)`, on our own stack where this thread is on a small alternate one. All signals
// are blocked meanwhile: the kernel would put a handler's frame over the one that is left. The
// buffer's lock is held, because there is one such stack.
void run_with_room(void (*run)(void*), void* context) noexcept;

template <typename Work>
void run_with_room(Work&& work) noexcept {
  run_with_room([](void* made) { (*static_cast<Work*>(made))(); }, &work);
}

}  // namespace iotune
