#include "tuner/decision/file_timer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "tuner/decision/database_library.h"

namespace iotune::tuner {
namespace {

struct TimedFile {
  std::uint32_t provider;
  std::int64_t file;
  char path[4096];
  std::uint64_t inside_ns, last_end_ns;
  bool collective;
};

constinit bool g_timing = false;
constinit TimedFile g_timed = {};
constinit ProcessLock g_lock;
constinit AfterFork g_after_fork([]() noexcept { g_timing = false; });

std::uint64_t file_bytes(const char* path) noexcept {
  if (has_dropped_privileges()) return 0;
  struct stat status {};
  const long result = raw::call(SYS_newfstatat, AT_FDCWD, raw::word(path), raw::word(&status), 0);
  return result == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

std::uint64_t file_timer_ns() noexcept {
  return has_dropped_privileges() ? 0 : clock_ns(CLOCK_MONOTONIC);
}

[[gnu::hot]] bool file_timer_is_on() noexcept {
  return __atomic_load_n(&g_timing, __ATOMIC_RELAXED);
}

void start_file_timer(const Provider& hdf5, std::int64_t file, const char* path,
                      std::uint64_t started_ns) noexcept {
  g_after_fork.enlist();
  const std::uint64_t now = file_timer_ns();
  const JumpSafeGuard guard(g_lock);
  g_timed.provider = hdf5.number;
  g_timed.file = file;
  std::strncpy(g_timed.path, path, sizeof g_timed.path - 1);
  g_timed.inside_ns = now - started_ns;
  g_timed.last_end_ns = now;
  g_timed.collective = false;
  __atomic_store_n(&g_timing, true, __ATOMIC_RELAXED);
}

void time_transfer(std::uint64_t started_ns, bool collective) noexcept {
  const std::uint64_t now = file_timer_ns();
  const JumpSafeGuard guard(g_lock);
  g_timed.inside_ns += now - started_ns;
  g_timed.last_end_ns = now;
  g_timed.collective = g_timed.collective || collective;
}

void stop_file_timer(const Provider& hdf5, std::int64_t file) noexcept {
  if (!file_timer_is_on()) return;
  const std::uint64_t now = file_timer_ns();
  TimedFile ended = {};
  {
    const JumpSafeGuard guard(g_lock);
    if (!g_timing || g_timed.file != file || g_timed.provider != hdf5.number) return;
    __atomic_store_n(&g_timing, false, __ATOMIC_RELAXED);
    g_timed.inside_ns += now - g_timed.last_end_ns;
    ended = g_timed;
  }
  report_file_time(ended.path, static_cast<double>(ended.inside_ns) * 1e-9, file_bytes(ended.path),
                   ended.collective);
}

}  // namespace iotune::tuner
