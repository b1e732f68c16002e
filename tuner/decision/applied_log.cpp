#include "tuner/decision/applied_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cstring>
#include <type_traits>

#include "core/os/raw_syscall.h"
#include "core/os/size_limit.h"
#include "core/os/ticks.h"
#include "core/os/utc_date.h"
#include "core/process/configuration.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "core/process/process_facts.h"
#include "core/process/site_folder.h"
#include "core/process/site_limits.h"
#include "core/run/answering_place.h"
#include "core/run/run_identity.h"
#include "recorder/gather/process_text.h"

namespace iotune::tuner {
namespace {

static_assert(std::is_trivially_copyable_v<OutcomeDigest>);

// A loop of short runs must not fill the site's disk: about ten thousand lines.
constexpr std::uint64_t kMostFileBytes = std::uint64_t{8} << 20;

constinit OutcomeDigest g_digest;
constinit OutcomeDigest g_of_another_rank;
// What a jump leaves half counted is still well formed.
constinit ProcessLock g_lock;
constinit AfterFork g_after_fork([]() noexcept { g_digest.clear(); });

bool has_log() noexcept {
  return *site_applied_log().pattern != '\0';
}

const char* base_name(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The first argument of a Python that is a script's name; what stands behind -c or -m is none.
void find_script(const char* program, ShortText<256>& script) noexcept {
  if (!starts_with(program, "python")) return;
  static constinit char arguments[2048] = {};
  const int fd = raw::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  const long bytes = raw::read(fd, arguments, sizeof arguments - 1);
  raw::close(fd);
  if (bytes <= 0) return;
  arguments[bytes] = '\0';
  const char* const end = arguments + bytes;
  for (const char* at = arguments + std::strlen(arguments) + 1; at < end;
       at += std::strlen(at) + 1) {
    if (std::strcmp(at, "-c") == 0 || std::strcmp(at, "-m") == 0) return;
    if (!ends_with(at, ".py")) continue;
    script << base_name(at);
    return;
  }
}

// Eight characters that tell this boot of this kernel from all others.
void add_boot(ShortText<4096>& path) noexcept {
  constexpr std::size_t kCharacters = 8;
  char id[64];
  const int fd = raw::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0);
  const long bytes = fd < 0 ? -1 : raw::read(fd, id, sizeof id);
  if (fd >= 0) raw::close(fd);
  if (bytes >= static_cast<long>(kCharacters)) {
    path.add(id, kCharacters);
    return;
  }
  std::uint64_t drawn = clock_ns(CLOCK_MONOTONIC);
  raw::call(SYS_getrandom, raw::word(&drawn), sizeof drawn, 0);
  path.add_hex(drawn);
}

void say_none(const ShortText<4096>& path, const char* why) noexcept {
  static constinit bool said = false;
  ShortText<1024> text;
  text << "the site's log of what was applied, " << path.c_str() << ", " << why
       << ": this run is not in it";
  say_once(said, text.c_str());
}

// nullptr, or why not.
const char* append(const char* path, const AppliedLine& line, bool for_group) noexcept {
  const int fd =
      raw::open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) return "cannot be written";
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  const char* why = nullptr;
  if (raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) != 0 ||
      !S_ISREG(status.st_mode) || status.st_uid != static_cast<uid_t>(raw::call(SYS_geteuid))) {
    why = "is no file of this user's";
  } else if (static_cast<std::uint64_t>(status.st_size) > kMostFileBytes) {
    why = "is full until next month";
  } else if (!within_size_limit(static_cast<std::uint64_t>(status.st_size) + line.size())) {
    why = "is over the limit of files' sizes (ulimit -f)";
  } else {
    const unsigned wanted = for_group ? 0640 : 0600;
    if ((status.st_mode & 07777u) != wanted) raw::call(SYS_fchmod, fd, wanted);
    const long done = raw::write(fd, line.c_str(), line.size());
    if (done != static_cast<long>(line.size())) why = "has no room for a line";
    // The next line must not go on with a part of this one.
    if (done > 0 && why != nullptr) raw::write(fd, "\n", 1);
  }
  raw::close(fd);
  return why;
}

void write_line_of_run() noexcept {
  static constinit AppliedLine line;
  static constinit ShortText<4096> path;
  static constinit ShortText<256> script;
  const std::uint64_t now = clock_ns(CLOCK_REALTIME) / 1'000'000'000u;
  const char* const program = base_name(program_path());
  script.clear();
  find_script(program, script);
  const int ranks = recorder::world_size();
  write_applied_line(g_digest,
                     {IOTUNE_VERSION, run_id(), program, script.c_str(), host_name(),
                      static_cast<std::uint64_t>(raw::call(SYS_geteuid)),
                      ranks > 0 ? static_cast<std::uint64_t>(ranks) : 1, now},
                     line);
  const SiteFolder site = site_applied_log();
  if (!place_answers(site.pattern)) return;
  if (const char* const why = site_folder(site.pattern, "applied", site.for_group, true, path)) {
    say_none(path, why);
    return;
  }
  const UtcDate date = utc_date(now);
  path << '/' << date.year << (date.month < 10 ? "-0" : "-") << date.month << '-' << host_name()
       << '-';
  add_boot(path);
  path << ".jsonl";
  if (path.cut()) return say_none(path, "is too long");
  if (const char* const why = append(path.c_str(), line, site.for_group)) say_none(path, why);
}

}  // namespace

void count_decision(const char* file, const Decision& decision) noexcept {
  if (!has_log()) return;
  g_after_fork.enlist();
  const JumpSafeGuard guard(g_lock, Waiting::kNotInHandler);
  if (guard.held()) g_digest.add_decision(file, decision);
}

void count_outcome(const char* file, const char* parameter, const char* wanted, Verdict verdict,
                   const Why& why) noexcept {
  if (!has_log()) return;
  g_after_fork.enlist();
  const JumpSafeGuard guard(g_lock, Waiting::kNotInHandler);
  if (guard.held()) g_digest.add_outcome(file, parameter, wanted, verdict, why);
}

std::span<const std::byte> own_outcomes() noexcept {
  if (!has_log() || g_digest.is_empty()) return {};
  return std::as_bytes(std::span(&g_digest, 1));
}

std::span<std::byte> room_for_outcomes() noexcept {
  if (!has_log()) return {};
  return std::as_writable_bytes(std::span(&g_of_another_rank, 1));
}

void take_outcomes() noexcept {
  const JumpSafeGuard guard(g_lock, Waiting::kNotInHandler);
  if (guard.held()) g_digest.add(g_of_another_rank);
}

void write_applied_log() noexcept {
  if (!has_log() || has_dropped_privileges() || is_quiet_rank()) return;
  const JumpSafeGuard guard(g_lock, Waiting::kNotInHandler);
  if (!guard.held() || g_digest.is_empty()) return;
  write_line_of_run();
  g_digest.clear();
}

}  // namespace iotune::tuner
