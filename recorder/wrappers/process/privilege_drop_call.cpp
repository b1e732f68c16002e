#include "recorder/wrappers/process/privilege_drop_call.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>

#include <cstdlib>
#include <cstring>

#include "core/link/real_function.h"
#include "core/os/own_stack.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "core/process/working_directory.h"
#include "core/run/run_identity.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/gather/trace_file.h"
#include "recorder/hooks/open_hooks.h"
#include "recorder/hooks/transfer_hooks.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/descriptors/saved_offsets.h"

namespace iotune::recorder {
namespace {

// For the process that joins the buffer: where the program's user wants the trace, and that the
// buffer may be without a call.
void note_privilege_drop() noexcept {
  static constinit ShortText<4096> path;
  static constinit ShortText<8192> text;
  text.clear();
  text << "narrowed=yes\n";
  if (configuration().trace_path != nullptr && trace_path(path)) {
    text << "trace=";
    text.add_escaped(path.c_str(), path.size());
    text << '\n';
  }
  if (!text.cut()) add_process_text(text.c_str(), text.size());
}

// Whether the program could miss what iotune takes for later records: its addresses are bounded,
// and not far above what it has.
bool is_short_of_addresses(MemoryLimit limit) noexcept {
  if (limit.of != MemoryLimit::Of::kAddresses) return false;
  const int fd = raw::open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
  char text[32] = {};
  if (fd < 0) return true;
  raw::read(fd, text, sizeof text - 1);
  raw::close(fd);
  constexpr std::uint64_t kEnough = 32u << 20, kOurs = 3u << 20;
  const std::uint64_t now = std::strtoull(text, nullptr, 10) * getauxval(AT_PAGESZ);
  // Below what the program itself has no memory can be had anyway.
  return limit.bytes < now + kEnough && limit.bytes + kOurs > now;
}

// All that needs system calls, files or memory is done now.
void hand_over(Loss loss, MemoryLimit limit) noexcept {
  const OwnCode own;
  // Prefetching stops what it does in the background.
  if (g_recording == kWatched) {
    for (int fd = 0; fd < end_of_descriptors(); ++fd) {
      const std::uint32_t file = file_of_descriptor(fd);
      if (file != 0) g_transfer_hooks.before_close(fd, file);
    }
    g_transfer_hooks.before_trace();
    g_recording = kRecorded;
  }
  leave_posix_alone();
  // A program that has traced nothing so far leaves nothing behind, unless it is asked for. One
  // that changes its user, its limits or its namespaces is mostly about to execute another program:
  // su, chroot, unshare and their kind, or a child of fork.
  const bool asked = configuration().trace_path != nullptr || run_has_owner();
  const bool goes_on = loss != Loss::kFiles;
  if (!buffer_exists() && !(asked && goes_on && start_buffer())) return;
  prepare_buffer_for_privilege_drop(!is_short_of_addresses(limit));
  save_offsets();
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

PrivilegeDropCall::PrivilegeDropCall(Loss loss, MemoryLimit limit) noexcept {
  if (g_recording == kNothing || in_vfork_child()) return;
  // A signal handler that has interrupted code of ours cannot hand over, nor one without room: what
  // is in the buffer is joined by the next iotune command. So is what MPI does while it starts.
  const bool hands_over =
      !has_dropped_privileges() && t_thread.ours == 0 && !on_small_alternate_stack();
  const bool without_counter = loss == Loss::kCounter || loss == Loss::kCallsAndCounter;
  const bool without_calls = loss == Loss::kCalls || loss == Loss::kCallsAndCounter;
  drops_ = loss != Loss::kCounter && !has_dropped_privileges();
  if (drops_) remember_working_directory();
  if (hands_over && drops_) hand_over(loss, limit);
  gave_back_ = drops_ && limit.of == MemoryLimit::Of::kData;
  if (gave_back_) protect_unused(true);
  if (!has_dropped_privileges() || without_counter) {
    stops_counter_ = without_counter || without_calls;
    if (stops_counter_) {
      const OwnCode own;
      const TickReading reading = last_tick_reading(hands_over);
      change_tick_source({without_counter, without_calls || has_dropped_privileges()},
                         reading.clocks, reading.rate);
    }
  }
  if (drops_) __atomic_store_n(&g_privileges_dropped, true, __ATOMIC_RELEASE);
}

void PrivilegeDropCall::wait_for_other_threads() const noexcept {
  if (!drops_ || t_thread.ours != 0) return;
  wait_for_changes_of_buffer();
  const timespec moment{0, 1'000'000};
  raw::call(SYS_nanosleep, raw::word(&moment), 0);
}

void PrivilegeDropCall::failed() noexcept {
  if (stops_counter_) restore_tick_source();
  if (drops_) __atomic_store_n(&g_privileges_dropped, false, __ATOMIC_RELEASE);
  if (gave_back_) protect_unused(false);
}

}  // namespace iotune::recorder
