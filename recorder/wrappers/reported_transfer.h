// A transfer that is reported to services before and after it is made (service.h). Its end is also
// reported where a jump leaves it: who waits for transfers that are under way would wait for ever.
#pragma once

#include <cerrno>

#include "core/process/jump_safe_guard.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/service.h"

namespace iotune::recorder {

// Before the call. The transfer is held until report_after(), or until its frame is left.
__attribute__((noinline)) inline void report_before(Transfer& transfer) noexcept {
  const OwnCode own;
  if (is_owned(transfer.fd)) return;
  tell_services<&Service::before>(transfer);
  if (transfer.counted == 0) return;
  hold_over_call(
      &transfer,
      [](std::uintptr_t counted) noexcept {
        tell_services<&Service::left>(static_cast<std::uint8_t>(counted));
      },
      transfer.counted);
}

// After the call. Keeps errno.
__attribute__((noinline)) inline void report_after(Transfer& transfer) noexcept {
  const int kept = errno;
  const OwnCode own;
  if (transfer.counted != 0 && !take_back(&transfer)) transfer.counted = 0;
  if (!is_owned(transfer.fd)) tell_services<&Service::after>(transfer);
  errno = kept;
}

// Instead of the call: its result, or kMakeTheCall.
inline std::int64_t serve_read(Transfer& transfer, const void* memory,
                               std::int64_t parts) noexcept {
  const OwnCode own;
  if (is_owned(transfer.fd)) return kMakeTheCall;
  return ask_services<&Service::serve_read>(kMakeTheCall, transfer, memory, parts);
}

}  // namespace iotune::recorder
