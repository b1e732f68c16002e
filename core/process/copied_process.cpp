#include "core/process/copied_process.h"

#include "core/os/raw_syscall.h"
#include "core/process/fork_marker.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"

namespace iotune {
namespace {

constinit bool g_forked = false;

void adopt_copy() noexcept {
  run_after_fork(has_dropped_privileges());
  if (has_dropped_privileges()) {
    // The buffer is the parent's, and a new one would need system calls.
    g_recording = kNothing;
    t_thread.ring = nullptr;
    return;
  }
  g_forked = true;
  // Last: until then any caller finds a copy.
  g_own_pid = raw::getpid();
}

}  // namespace

bool is_forked() noexcept {
  return g_forked;
}

void in_forked_child() noexcept {
  adopt_copy();
  if (!has_dropped_privileges()) mark_memory_after_fork();
  t_thread.ours = 0;
}

bool in_vfork_child() noexcept {
  // The process cannot be asked for its number. What its parent forked without our handlers has
  // lost the mark, and leaves all alone as well.
  if (has_dropped_privileges()) return is_copied_memory();
  return raw::getpid() != g_own_pid && !adopt_copied_memory(adopt_copy);
}

}  // namespace iotune
