// Exceptions that leave a wrapper (IOTUNE_NOTICES_UNWINDING): what a jump's wrapper does for jumps.
#include <unwind.h>

#include <cstdint>

#include "core/process/jump_safe_guard.h"
#include "core/process/thread_state.h"
#include "recorder/ring/process_buffer.h"

using namespace iotune;

// The exception goes on to the code that catches it. Where that is a callback of the program's,
// inside of another wrapped call, the thread counts as outside of that one, too, until it ends: as
// after a jump (process_jumps.cpp). No lock is given back: none is held over a call of the
// program's.
extern "C" __attribute__((used, visibility("hidden"))) _Unwind_Reason_Code iotune_frame_is_left(
    int /*version*/, _Unwind_Action actions, std::uint64_t /*language*/,
    _Unwind_Exception* /*exception*/, _Unwind_Context* /*context*/) noexcept {
  if ((actions & _UA_CLEANUP_PHASE) != 0 && !in_vfork_child()) {
    recorder::leave_ring();
    leave_held(UINTPTR_MAX);
    t_thread.layers = t_thread.ours = t_thread.callback_depth = 0;
  }
  return _URC_CONTINUE_UNWIND;
}
