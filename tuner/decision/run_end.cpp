#include "tuner/decision/run_end.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/fnv1a.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/site_limits.h"
#include "core/run/run_identity.h"
#include "recorder/gather/gather_trace.h"
#include "recorder/gather/trace_file.h"
#include "tuner/decision/database_library.h"

namespace iotune::tuner {
namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;
constexpr std::uint64_t kMostNs = 50 * kMillisecondNs, kShareOfRun = 50;
// To load the library and to read a small trace takes longer.
constexpr std::uint64_t kLeastToLoadNs = 3 * kMillisecondNs;
// Where it takes as long to keep a run, a later one with a quicker home learns from it.
constexpr std::uint64_t kSlowHomeNs = 1000 * kMillisecondNs;

// What waits to be learnt from. Beyond it a run is learnt from at once or not at all.
constexpr unsigned kMostPending = 64;
constexpr std::uint64_t kMostPendingBytes = std::uint64_t{128} << 20;
// Of a database that nobody uses any more.
constexpr std::int64_t kForgottenNs = 30 * std::int64_t{86'400} * 1'000'000'000;

alignas(8) constinit char g_entries[4096] = {};

// 0: not known.
std::uint64_t run_ns() noexcept {
  constexpr std::uint64_t kTickNs = 10 * kMillisecondNs;  // USER_HZ is 100 to every program
  const std::uint64_t began_ns = process_start_time(raw::getpid()) * kTickNs;
  const std::uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
  return began_ns == 0 || began_ns > now_ns ? 0 : now_ns - began_ns;
}

std::uint64_t budget_ns() noexcept {
  const char* const said = std::getenv("IOTUNE_LEARN_MS");
  if (said != nullptr && *said >= '0' && *said <= '9') {
    return parse_decimal(said) * kMillisecondNs;
  }
  const std::uint64_t share_ns = run_ns() / kShareOfRun;
  return share_ns < kMostNs ? share_ns : kMostNs;
}

// As of patterndb/decide/exploration.h.
bool draws_runs() noexcept {
  const char* const said = std::getenv("IOTUNE_EXPLORE");
  return said == nullptr || std::strcmp(said, "off") != 0;
}

// Whether one more of `bytes` may be kept. Those that nobody came for go.
bool has_room(int folder, std::uint64_t bytes) noexcept {
  const auto now_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
  unsigned pending = 0;
  for_each_entry(folder, g_entries, [&](const char* name) noexcept {
    struct stat status {};
    if (!ends_with(name, ".trace") || !stat_of(folder, name, status)) {
      return true;
    }
    // A link's own time where the trace lies on another file system.
    const std::int64_t age_ns =
        now_ns - status.st_ctim.tv_sec * std::int64_t{1'000'000'000} - status.st_ctim.tv_nsec;
    if (age_ns > kForgottenNs) {
      raw::call(SYS_unlinkat, folder, raw::word(name), 0);
      return true;
    }
    ++pending;
    bytes += static_cast<std::uint64_t>(status.st_size);
    return true;
  });
  return pending < kMostPending && bytes <= kMostPendingBytes;
}

// A second name of the trace's file in the folder of the pending runs: nothing is copied, and
// whatever becomes of the first name the bytes stay. On another file system a link has to do.
// `name` stays empty where it is not kept; patterndb/learn/pending_runs.h has the form of the
// names.
void keep_run(const char* trace, const char* folder_path, bool held,
              ShortText<4096>& name) noexcept {
  const int folder = open_directory(raw::kAtFdcwd, folder_path);
  if (folder < 0) return;
  struct stat status {};
  const bool found =
      raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(trace), raw::word(&status), 0) == 0;
  std::uint64_t drawn = 0;
  raw::call(SYS_getrandom, raw::word(&drawn), sizeof drawn, 0);
  if (found && has_room(folder, static_cast<std::uint64_t>(status.st_size))) {
    ShortText<4096> database;
    database_path(database);
    ShortText<4096> base;
    const std::uint64_t now_ns = clock_ns(CLOCK_REALTIME);
    base.add_hex(now_ns);
    base << '-' << static_cast<std::uint64_t>(raw::getpid()) << '-';
    base.add_hex(drawn) << '-';
    base.add_hex(Fnv1a::of(database.c_str()));
    if (held) base << "-held";
    ShortText<4096> path;
    path << base.c_str() << ".path";
    base << ".trace";
    raw::call(SYS_symlinkat, raw::word(trace), folder, raw::word(path.c_str()));
    if (recorder::trace_has_others()) {
      // They are learnt from by themselves.
      ShortText<4096> own;
      own << folder_path << '/' << base.c_str();
      if (!own.cut() && recorder::write_own_blocks(own.c_str())) name << base.c_str();
    } else if (raw::call(SYS_linkat, raw::kAtFdcwd, raw::word(trace), folder,
                         raw::word(base.c_str()), 0) == 0 ||
               raw::call(SYS_symlinkat, raw::word(trace), folder, raw::word(base.c_str())) == 0) {
      name << base.c_str();
    }
    if (name.size() == 0) raw::call(SYS_unlinkat, folder, raw::word(path.c_str()), 0);
  }
  raw::close(folder);
}

// Whether runs wait in a folder. It is only looked at.
bool has_pending_runs(const char* path) noexcept {
  const int folder = open_directory(raw::kAtFdcwd, path);
  if (folder < 0) return false;
  const bool none = for_each_entry(
      folder, g_entries, [](const char* name) noexcept { return !ends_with(name, ".trace"); });
  raw::close(folder);
  return !none;
}

// Runs wait in the home that were kept there before the site named another folder.
void learn_from_home(const char* folder, bool held, std::uint64_t until_ns) noexcept {
  static constinit ShortText<4096> home;
  if (*site_traces().pattern == '\0' || !recorder::home_state_path("learn", home) ||
      std::strcmp(home.c_str(), folder) == 0 || clock_ns(CLOCK_MONOTONIC) >= until_ns) {
    return;
  }
  if (has_pending_runs(home.c_str())) {
    learn_from_runs({home.c_str(), nullptr, nullptr, held, until_ns});
  }
}

}  // namespace

void learn_at_run_end(const char* trace) noexcept {
  if (has_dropped_privileges() || !configuration().learns) return;
  const std::uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t budget = budget_ns();
  static constinit ShortText<4096> folder, name;
  folder.clear();
  name.clear();
  const bool held = !draws_runs();
  if (recorder::state_directory("learn", folder)) {
    keep_run(trace, folder.c_str(), held, name);
  } else {
    folder.clear();
  }
  if (budget < kLeastToLoadNs && !database_is_loaded()) return;
  const std::uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
  if (name.size() != 0 && took_ns > kSlowHomeNs && took_ns > budget) return;
  // Learnt from where it lies, it would count what other processes did twice.
  if (name.size() != 0 || !recorder::trace_has_others()) {
    learn_from_runs({folder.c_str(), trace, name.size() == 0 ? nullptr : name.c_str(), held,
                     began_ns + budget});
  }
  learn_from_home(folder.c_str(), held, began_ns + budget);
}

}  // namespace iotune::tuner
