#include "recorder/wrappers/process/privilege_drop_call.h"

#include <time.h>

#include <string_view>

#include "core/link/real_function.h"
#include "core/os/own_stack.h"
#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {
namespace {

// For the process that joins the buffer: it may be without a call.
void note_privilege_drop() noexcept {
  constexpr std::string_view kNote = "narrowed=yes\n";
  add_process_text(kNote.data(), kNote.size());
}

// All that needs system calls, files or memory is done now.
void hand_over(Loss loss) noexcept {
  const OwnCode own;
  // Services stop what they do in the background.
  if (g_recording == kWatched) {
    for (int fd = 0; fd < end_of_descriptors(); ++fd) {
      const std::uint32_t file = file_of_descriptor(fd);
      if (file != 0) tell_services<&Service::before_close>(fd, file);
    }
    tell_services<&Service::before_trace>();
  }
  leave_posix_alone();
  // A program that has traced nothing so far leaves nothing behind, unless it is asked for. One
  // that changes its user, its limits or its namespaces is mostly about to execute another program:
  // su, chroot, unshare and their kind, or a child of fork.
  const bool asked = configuration().trace_path != nullptr || run_has_owner();
  const bool goes_on = loss == Loss::kCalls;
  if (!buffer_exists() && !(asked && goes_on && start_buffer())) return;
  store_before_privilege_drop();
  note_privilege_drop();
  if (configuration().trace_path != nullptr && writes_own_trace() && has_recorded_calls()) {
    write_own_trace();
  }
}

// Zeros that are not in use, and cannot come into use after the privilege drop: read-only
// pages do not count against RLIMIT_DATA.
void protect_unused(bool protects) noexcept {
  protect_own_stack(protects);
  CallerSymbol::protect_unused(protects);
}

}  // namespace

PrivilegeDropCall::PrivilegeDropCall(Loss loss) noexcept {
  if (g_recording < kRecorded || in_vfork_child()) return;
  drops_ = true;
  // A signal handler that has interrupted code of ours cannot hand over, nor one without room: what
  // is in the buffer is joined by the next iotune command. So is what MPI does while it starts.
  if (t_thread.ours == 0 && !on_small_alternate_stack()) hand_over(loss);
  gave_back_ = loss == Loss::kData;
  if (gave_back_) protect_unused(true);
  g_recording = kSealed;
  stop_ticks();
  __atomic_store_n(&g_privileges_dropped, true, __ATOMIC_RELEASE);
}

void PrivilegeDropCall::wait_for_other_threads() const noexcept {
  if (!drops_ || t_thread.ours != 0) return;
  wait_for_changes_of_buffer();
  const timespec moment{0, 1'000'000};
  raw::call(SYS_nanosleep, raw::word(&moment), 0);
}

void PrivilegeDropCall::failed() noexcept {
  if (!drops_) return;
  __atomic_store_n(&g_privileges_dropped, false, __ATOMIC_RELEASE);
  resume_ticks();
  g_recording = kRecorded;
  if (gave_back_) protect_unused(false);
}

}  // namespace iotune::recorder
