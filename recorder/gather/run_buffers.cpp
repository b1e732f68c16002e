#include "recorder/gather/run_buffers.h"

#include <cerrno>
#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/own_stack.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/signal_context.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_facts.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {
namespace {

// Calls `each(name)` for the buffers until it answers false.
template <typename Each>
void for_each_buffer(Each&& each) noexcept {
  alignas(8) char entries[1024];
  const char* const path = run_directory();
  const int directory = path == nullptr ? -1 : open_directory(raw::kAtFdcwd, path);
  if (directory < 0) return;
  for_each_entry(directory, entries, [&](const char* name) noexcept {
    return !ends_with(name, ".iobuf") || each(name);
  });
  raw::close(directory);
}

}  // namespace

bool run_has_other_buffers() noexcept {
  int buffers = 0;
  for_each_buffer([&](const char*) noexcept { return ++buffers < 2; });
  return buffers > 1;
}

bool run_has_buffer_of(long pid) noexcept {
  ShortText<128> start;
  start << host_name() << '.' << pid << '.';
  bool found = false;
  for_each_buffer([&](const char* name) noexcept {
    found = starts_with(name, start.c_str());
    return !found;
  });
  return found;
}

void note_terminated(long pid) noexcept {
  if (pid <= 0 || g_recording == kNothing || t_thread.ours != 0 || in_vfork_child() ||
      has_dropped_privileges() || may_be_in_signal_handler() || on_small_alternate_stack()) {
    return;
  }
  const int kept = errno;
  const OwnCode own;
  const bool itself = pid == g_own_pid;
  // Of a parent that has recorded nothing there would be no word in a trace that is asked for.
  const bool may_say = buffer_exists() || (!itself && configuration().trace_path != nullptr);
  if (may_say && (itself || run_has_buffer_of(pid)) && start_buffer()) {
    ShortText<64> text;
    text << "terminated_" << pid << "=yes\n";
    add_process_text(text.c_str(), text.size());
  }
  errno = kept;
}

}  // namespace iotune::recorder
