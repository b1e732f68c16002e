// A transfer between the two transfer hooks (transfer_hooks.h), which hear of its end also where a
// signal handler jumps out of it: who waits for it to end would wait for ever.
#pragma once

#include <cerrno>

#include "core/process/thread_state.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {

inline std::uintptr_t frame_of(const Transfer& transfer) noexcept {
  return reinterpret_cast<std::uintptr_t>(&transfer);
}

__attribute__((noinline)) inline void tell_before(Transfer& transfer) noexcept {
  const OwnCode own;
  g_transfer_hooks.before(transfer);
  ThreadState& thread = t_thread;
  if (transfer.counted == 0 || thread.told_count == kMaxGuards) return;
  thread.told[thread.told_count] = frame_of(transfer);
  thread.told_as[thread.told_count] = transfer.counted;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  ++thread.told_count;
}

// Keeps errno.
__attribute__((noinline)) inline void tell_after(const Transfer& transfer) noexcept {
  const int kept = errno;
  const OwnCode own;
  ThreadState& thread = t_thread;
  if (thread.told_count > 0 && thread.told[thread.told_count - 1] == frame_of(transfer)) {
    --thread.told_count;
  }
  g_transfer_hooks.after(transfer);
  errno = kept;
}

// This thread's stack will end at `stack`.
inline void leave_transfers(std::uintptr_t stack) noexcept {
  ThreadState& thread = t_thread;
  while (thread.told_count > 0 && thread.told[thread.told_count - 1] < stack) {
    --thread.told_count;
    g_transfer_hooks.left(thread.told_as[thread.told_count]);
  }
}

}  // namespace iotune::recorder
