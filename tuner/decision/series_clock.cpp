#include "tuner/decision/series_clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/os/ticks.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/narrowing.h"
#include "core/process/process_events.h"
#include "tuner/decision/database_library.h"

namespace iotune::tuner {
namespace {

struct Watch {
  std::uint32_t provider;
  std::int64_t file;
  char path[4096];
  std::uint64_t inside_ns, last_end_ns;
  bool collective;
};

constinit bool g_watching = false;
constinit Watch g_watch = {};
constinit ProcessLock g_lock;
constinit AfterFork g_after_fork([]() noexcept { g_watching = false; });

std::uint64_t file_bytes(const char* path) noexcept {
  if (is_narrowed()) return 0;
  struct stat status {};
  const long result = raw::call(SYS_newfstatat, AT_FDCWD, raw::word(path), raw::word(&status), 0);
  return result == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

std::uint64_t series_clock_ns() noexcept {
  return is_narrowed() ? 0 : clock_ns(CLOCK_MONOTONIC);
}

[[gnu::hot]] bool series_is_watched() noexcept {
  return __atomic_load_n(&g_watching, __ATOMIC_RELAXED);
}

void watch_series(const Provider& hdf5, std::int64_t file, const char* path,
                  std::uint64_t started_ns) noexcept {
  g_after_fork.enlist();
  const std::uint64_t now = series_clock_ns();
  const JumpSafeGuard guard(g_lock);
  g_watch.provider = hdf5.number;
  g_watch.file = file;
  std::strncpy(g_watch.path, path, sizeof g_watch.path - 1);
  g_watch.inside_ns = now - started_ns;
  g_watch.last_end_ns = now;
  g_watch.collective = false;
  __atomic_store_n(&g_watching, true, __ATOMIC_RELAXED);
}

void count_transfer(std::uint64_t started_ns, bool collective) noexcept {
  const std::uint64_t now = series_clock_ns();
  const JumpSafeGuard guard(g_lock);
  g_watch.inside_ns += now - started_ns;
  g_watch.last_end_ns = now;
  g_watch.collective = g_watch.collective || collective;
}

void series_closed(const Provider& hdf5, std::int64_t file) noexcept {
  if (!series_is_watched()) return;
  const std::uint64_t now = series_clock_ns();
  Watch ended = {};
  {
    const JumpSafeGuard guard(g_lock);
    if (!g_watching || g_watch.file != file || g_watch.provider != hdf5.number) return;
    __atomic_store_n(&g_watching, false, __ATOMIC_RELAXED);
    g_watch.inside_ns += now - g_watch.last_end_ns;
    ended = g_watch;
  }
  tell_series(ended.path, static_cast<double>(ended.inside_ns) * 1e-9, file_bytes(ended.path),
              ended.collective);
}

}  // namespace iotune::tuner
