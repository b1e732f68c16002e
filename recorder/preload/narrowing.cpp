#include "recorder/preload/narrowing.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>

#include <cstdlib>
#include <cstring>

#include "recorder/preload/advice.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/descriptor_table.h"
#include "recorder/preload/gather_trace.h"
#include "recorder/preload/kept_positions.h"
#include "recorder/preload/own_stack.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/real_function.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/short_text.h"
#include "recorder/preload/thread_state.h"
#include "recorder/preload/ticks.h"
#include "recorder/preload/trace_file.h"

namespace iotune::recorder {
namespace {

// Of the moment of the narrowing; empty where it is unknown.
constinit ShortText<4096> g_directory, g_root;

// For whoever joins the buffer: where the program's user wants the trace, and that the buffer may
// be without a call.
void note_narrowing() noexcept {
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
  // The advice stops what it does in the background.
  if (g_recording == kWatched) {
    for (int fd = 0; fd < end_of_descriptors(); ++fd) {
      const std::uint32_t file = file_of_descriptor(fd);
      if (file != 0) g_advice.before_close(fd, file);
    }
    g_advice.before_trace();
    g_recording = kRecorded;
  }
  leave_posix_alone();
  // A program that has traced nothing so far leaves nothing behind, unless it is asked for. One
  // that changes its user, its limits or its namespaces is mostly about to execute another program:
  // su, chroot, unshare and their kind, or a child of fork.
  const bool asked = configuration().trace_path != nullptr || run_has_owner();
  const bool goes_on = loss != Loss::kFiles;
  if (!buffer_exists() && !(asked && goes_on && start_buffer())) return;
  prepare_buffer_for_narrowing(!is_short_of_addresses(limit));
  keep_positions();
  note_narrowing();
  if (configuration().trace_path != nullptr && writes_own_trace() && has_recorded_calls()) {
    write_own_trace();
  }
}

// Zeros that are not in use, and cannot come into use while the program is narrowed: read-only
// pages do not count against RLIMIT_DATA.
void protect_unused(bool protects) noexcept {
  protect_own_stack(protects);
  CallerSymbol::protect_unused(protects);
}

void remember_directory() noexcept {
  g_directory.clear();
  const long bytes = raw::getcwd(g_directory.tail(), g_directory.room());
  if (bytes > 1) g_directory.grew(static_cast<std::size_t>(bytes - 1));
}

}  // namespace

NarrowingCall::NarrowingCall(Loss loss, MemoryLimit limit) noexcept {
  if (g_recording == kNothing || in_vfork_child()) return;
  // A signal handler that has interrupted code of ours cannot hand over, nor one without room: what
  // is in the buffer is joined by the next iotune command. So is what MPI does while it starts.
  const bool hands_over = !is_narrowed() && t_thread.ours == 0 && !on_small_alternate_stack();
  const bool without_counter = loss == Loss::kCounter || loss == Loss::kCallsAndCounter;
  const bool without_calls = loss == Loss::kCalls || loss == Loss::kCallsAndCounter;
  narrows_ = loss != Loss::kCounter && !is_narrowed();
  if (narrows_) remember_directory();
  if (hands_over && narrows_) hand_over(loss, limit);
  gave_back_ = narrows_ && limit.of == MemoryLimit::Of::kData;
  if (gave_back_) protect_unused(true);
  if (!is_narrowed() || without_counter) {
    stops_counter_ = without_counter || without_calls;
    if (stops_counter_) {
      const OwnCode own;
      const TickReading reading = last_tick_reading(hands_over);
      change_tick_source({without_counter, without_calls || is_narrowed()}, reading.clocks,
                         reading.rate);
    }
  }
  if (narrows_) __atomic_store_n(&g_narrowed, true, __ATOMIC_RELEASE);
}

void NarrowingCall::wait_for_other_threads() const noexcept {
  if (!narrows_ || t_thread.ours != 0) return;
  wait_for_changes_of_buffer();
  const timespec moment{0, 1'000'000};
  raw::call(SYS_nanosleep, raw::word(&moment), 0);
}

void NarrowingCall::failed() noexcept {
  if (stops_counter_) restore_tick_source();
  if (narrows_) __atomic_store_n(&g_narrowed, false, __ATOMIC_RELEASE);
  if (gave_back_) protect_unused(false);
}

long working_directory(char* to, std::size_t bytes) noexcept {
  if (!is_narrowed()) return raw::getcwd(to, bytes);
  if (g_directory.size() == 0 || g_directory.cut() || g_directory.size() >= bytes) return -1;
  std::memcpy(to, g_directory.c_str(), g_directory.size() + 1);
  return static_cast<long>(g_directory.size() + 1);
}

void working_directory_changed(const char* path) noexcept {
  if (!is_narrowed()) return;
  if (path == nullptr || path[0] != '/') {
    g_directory.clear();
    return;
  }
  g_directory.clear();
  g_directory << root_of_paths() << path;
}

const char* root_of_paths() noexcept {
  return g_root.c_str();
}

void root_changes(const char* path) noexcept {
  static constinit ShortText<4096> root;
  root.clear();
  if (path == nullptr) return;
  if (path[0] == '/') {
    root << g_root.c_str() << path;
  } else {
    root << g_directory.c_str() << '/' << path;
  }
  // Without a slash or a dot at its end, paths of the program follow it.
  std::size_t bytes = root.size();
  while (bytes > 0 &&
         (root.c_str()[bytes - 1] == '/' ||
          (root.c_str()[bytes - 1] == '.' && bytes > 1 && root.c_str()[bytes - 2] == '/'))) {
    --bytes;
  }
  g_root.clear();
  g_root.add(root.c_str(), bytes);
}

}  // namespace iotune::recorder
