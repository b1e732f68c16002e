// Wrappers of longjmp. A signal handler or a library's callback that leaves a call by it skips the
// end of our wrapper: without these wrappers the thread would count as inside that call for ever.
//
// A library may also jump within its own call. Then the thread counts as outside until that call's
// wrapper ends and sets the layers anew, and calls that the library makes meanwhile are taken for
// the program's. glibc jumps in none of the calls that are wrapped.
#include "core/abi/mpi_file_mark.h"
#include "core/process/fork_marker.h"
#include "core/process/jump_safe_guard.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

// Where the stack will end after a jump: glibc keeps it rotated and covered by a word of the
// thread. Above all addresses where that is not known.
std::uintptr_t stack_after(const void* environment) noexcept {
#if defined(__x86_64__)
  std::uintptr_t stack = static_cast<const std::uintptr_t*>(environment)[6];
  asm("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(stack) : : "cc");
  return stack;
#else
  static_cast<void>(environment);
  return UINTPTR_MAX;
#endif
}

// The frames between here and the jump's target will be gone, without their destructors.
void leave_calls(const void* environment) noexcept {
  const bool in_call = (t_thread.layers | t_thread.ours | t_thread.callback_depth) != 0;
  const bool is_marked = t_mpi_file_mark != nullptr;
  if ((!in_call && !is_marked && t_thread.held_count == 0) || in_vfork_child()) return;
  const std::uintptr_t stack = stack_after(environment);
  MpiFileMark::leave_by_jump(stack);
  while (t_thread.guard_count > 0) {
    if (t_thread.guard_count <= kMaxGuards) {
      JumpSafeGuard* const guard = t_thread.guards[t_thread.guard_count - 1];
      // A handler that jumps within itself: what it interrupted goes on afterwards.
      if (reinterpret_cast<std::uintptr_t>(guard) > stack) return;
      guard->release_by_jump();
    }
    --t_thread.guard_count;
  }
  recorder::leave_ring();
  if (t_thread.ours != 0) tell_services<&Service::jumped>();
  leave_held(stack);
  t_thread.layers = t_thread.ours = t_thread.callback_depth = 0;
}

[[noreturn]] void jump(NextSymbol& next, const char* name, void* environment, int value) noexcept {
  leave_calls(environment);
  next.find_as<void(void*, int)>(name)(environment, value);
  __builtin_unreachable();
}

}  // namespace

extern "C" {

[[noreturn]] IOTUNE_EXPORT void longjmp(void* environment, int value) {
  static constinit NextSymbol next;
  jump(next, "longjmp", environment, value);
}
[[noreturn]] IOTUNE_EXPORT void _longjmp(void* environment, int value) {
  static constinit NextSymbol next;
  jump(next, "_longjmp", environment, value);
}
[[noreturn]] IOTUNE_EXPORT void siglongjmp(void* environment, int value) {
  static constinit NextSymbol next;
  jump(next, "siglongjmp", environment, value);
}
[[noreturn]] IOTUNE_EXPORT void __longjmp_chk(void* environment, int value) {
  static constinit NextSymbol next;
  jump(next, "__longjmp_chk", environment, value);
}

}  // extern "C"
