// A transfer that is reported to prefetching before and after it is made (transfer_hooks.h). Its
// end is also reported where a jump leaves it: prefetching waits for the transfers that are under
// way, and would wait for ever.
#pragma once

#include <cerrno>

#include "core/process/jump_safe_guard.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/transfer_hooks.h"

namespace iotune::recorder {

// Before the call. The transfer is held until report_after(), or until its frame is left.
__attribute__((noinline)) inline void report_before(Transfer& transfer) noexcept {
  const OwnCode own;
  g_transfer_hooks.before(transfer);
  if (transfer.counted == 0) return;
  hold_over_call(
      &transfer,
      [](std::uintptr_t counted) noexcept {
        g_transfer_hooks.left(static_cast<std::uint8_t>(counted));
      },
      transfer.counted);
}

// After the call. Keeps errno.
__attribute__((noinline)) inline void report_after(Transfer& transfer) noexcept {
  const int kept = errno;
  const OwnCode own;
  if (transfer.counted != 0 && !take_back(&transfer)) transfer.counted = 0;
  g_transfer_hooks.after(transfer);
  errno = kept;
}

}  // namespace iotune::recorder
