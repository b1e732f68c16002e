// The library's life in a process: constructor, fork, exit.
#include <pthread.h>

#include <cerrno>

#include "core/abi/mpi_api.h"
#include "core/files/descriptor.h"
#include "core/link/at_start.h"
#include "core/link/real_function.h"
#include "core/link/weak_references.h"
#include "core/os/own_stack.h"
#include "core/os/raw_syscall.h"
#include "core/os/signal_context.h"
#include "core/process/configuration.h"
#include "core/process/copied_process.h"
#include "core/process/privilege_drop.h"
#include "core/process/site_limits.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/gather/kept_traces.h"
#include "recorder/gather/leftovers.h"
#include "recorder/gather/worth.h"
#include "recorder/hooks/decisions.h"
#include "recorder/hooks/service.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/object_table.h"
#include "recorder/wrappers/process/process_end.h"
#include "recorder/wrappers/stdio/stdio_gaps.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

namespace {

void before_fork() noexcept {
  // Children that record go on with it: a pool is one run, also where its parent records nothing.
  if (g_recording != kNothing) run_id();
  g_copies.fetch_add(1, std::memory_order_relaxed);
  leave_objects_for_fork();
}

// Before the tuner's constructor, which asks for the mode.
// The dynamic linker hands what main gets to constructors.
IOTUNE_START_CODE __attribute__((constructor(65400))) void start(int /*count*/,
                                                                 char** arguments) noexcept {
  const int kept = errno;
  g_own_pid = raw::getpid();
  note_objects_at_start();
  give_back_weak_references();
  pthread_atfork(before_fork, go_on_after_fork, forget_other_threads);
  read_configuration(arguments);
  if (configuration().mode != Mode::kOff) {
    if (configuration().is_launcher) {
      set_run_id_of_launcher();
    } else if (configuration().share < 100 &&
               !job_is_in_share(job_or_run_id(), configuration().share)) {
      record_only();
    }
    if (!configuration().is_launcher) tell_owner_of_this_process();
    pthread_atfork(nullptr, nullptr, in_forked_child);
    g_recording = configuration().is_launcher ? kNothing : kRecorded;
    g_records_to_learn = configuration().samples_files;
    g_records_order = configuration().records_order && g_recording != kNothing;
    if (g_recording != kNothing) {
      g_run_directory_made = [](const char* root) noexcept { bound_leftovers(root); };
      prepare_high_numbers();
      enlist_buffer();
      trace_descriptors_at_start();
      note_streams_at_start();
    }
  }
  errno = kept;
}

// Not to be relied on: exit_group, signals and abort never come here. What it does is only
// sooner what the next iotune command would do.
IOTUNE_START_CODE __attribute__((destructor)) void stop() noexcept {
  // exit() called by a signal handler that interrupted our own code: its locks may be held.
  if (!g_recording || t_thread.ours != 0 || in_vfork_child()) return;
  const int kept = errno;
  record_last_gaps();
  errno = kept;
  const OwnCode own;
  tell_services<&Service::process_ends>();
  if (!buffer_exists()) return;
  if (has_dropped_privileges()) {
    // The process that joins the buffer writes the trace.
    end_buffer("exit");
    errno = kept;
    return;
  }
  tell_services<&Service::before_trace>();
  end_buffer("exit");
  const Leaves left = what_is_left();
  if (left == Leaves::kNothing) {
    drop_buffer();
    errno = kept;
    return;
  }
  if (left == Leaves::kTrace && (writes_own_trace() || buffer_is_in_memory())) {
    if (const char* const trace = write_own_trace()) {
      tell_services<&Service::run_ended>(trace);
      if (configuration().trace_path == nullptr) bound_traces(trace);
    }
  }
  remove_if_joined();
  errno = kept;
}

}  // namespace

// A trace is not written here: who calls _exit may be in a hurry, and the next iotune command joins
// the buffer of this process with those of the others anyway.
void end_before_leaving() noexcept {
  if (g_recording == kNothing || t_thread.ours != 0 || in_vfork_child() ||
      has_dropped_privileges() || on_small_alternate_stack() || !buffer_exists()) {
    return;
  }
  const int kept = errno;
  const OwnCode own;
  // What a service learnt is for workers, which always end so. It waits for locks and files, and a
  // watchdog's _exit has to end the process whatever its other threads hang in.
  if (is_forked() && !may_be_in_signal_handler()) tell_services<&Service::before_trace>();
  const bool ended = end_buffer_in_a_hurry("_exit");
  if (ended && !may_be_in_signal_handler() && what_is_left() == Leaves::kNothing) drop_buffer();
  errno = kept;
}

bool writes_own_trace() noexcept {
  return !is_forked() && world_provider() == nullptr && run_is_this_process();
}

}  // namespace iotune::recorder

// By a command of iotune's own (python/iotune/entry.py), whatever its process is called: none is
// watched, not even where its environment asks for a trace.
extern "C" IOTUNE_EXPORT void iotune_leave_this_process() noexcept {
  using namespace iotune::recorder;
  if (iotune::g_recording == iotune::kNothing) return;
  iotune::g_recording = iotune::kNothing;
  leave_posix_alone();
  drop_buffer();
}
