// A transfer that is reported to prefetching before and after it is made (transfer_hooks.h). Its
// end is also reported where a signal handler jumps out of it: prefetching waits for the transfers
// that are under way, and would wait for ever.
#pragma once

#include <cerrno>

#include "core/process/thread_state.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {

inline std::uintptr_t frame_of(const Transfer& transfer) noexcept {
  return reinterpret_cast<std::uintptr_t>(&transfer);
}

// Before the call. The transfer stays on the thread's list until report_after() or a jump.
__attribute__((noinline)) inline void report_before(Transfer& transfer) noexcept {
  const OwnCode own;
  g_transfer_hooks.before(transfer);
  ThreadState& thread = t_thread;
  if (transfer.counted == 0 || thread.reported_count == kMaxGuards) return;
  thread.reported[thread.reported_count] = frame_of(transfer);
  thread.reported_as[thread.reported_count] = transfer.counted;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  ++thread.reported_count;
}

// After the call. Keeps errno.
__attribute__((noinline)) inline void report_after(const Transfer& transfer) noexcept {
  const int kept = errno;
  const OwnCode own;
  ThreadState& thread = t_thread;
  if (thread.reported_count > 0 &&
      thread.reported[thread.reported_count - 1] == frame_of(transfer)) {
    --thread.reported_count;
  }
  g_transfer_hooks.after(transfer);
  errno = kept;
}

// Before a jump: reports the end of the transfers whose frames are below the address `stack`, where
// this thread's stack will end.
inline void leave_transfers(std::uintptr_t stack) noexcept {
  ThreadState& thread = t_thread;
  while (thread.reported_count > 0 && thread.reported[thread.reported_count - 1] < stack) {
    --thread.reported_count;
    g_transfer_hooks.left(thread.reported_as[thread.reported_count]);
  }
}

}  // namespace iotune::recorder
