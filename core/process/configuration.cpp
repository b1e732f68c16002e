#include "core/process/configuration.h"

#include <poll.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/link/at_start.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/privilege_drop.h"
#include "core/process/site_limits.h"
#include "core/run/left_out_programs.h"

namespace iotune {
namespace {

IOTUNE_START_DATA constinit Configuration g_configuration;
IOTUNE_START_DATA constinit bool g_quiet_rank = false;

// Programs may change their environment while we run: every value is copied once. What every
// user's environment has goes into the small buffer, beside the other data of the start.
constexpr std::size_t kHomeBytes = 192, kTextBytes = 16384;
IOTUNE_START_DATA constinit char g_home[kHomeBytes] = {};
constinit char g_texts[kTextBytes] = {};
constinit std::size_t g_texts_used = 0;

const char* keep(const char* a, const char* b = "") noexcept {
  const std::size_t na = std::strlen(a);
  const std::size_t nb = std::strlen(b);
  if (g_texts_used + na + nb + 1 > kTextBytes) return nullptr;
  char* const to = g_texts + g_texts_used;
  std::memcpy(to, a, na);
  std::memcpy(to + na, b, nb + 1);
  g_texts_used += na + nb + 1;
  return to;
}

IOTUNE_START_CODE const char* keep_home(const char* home) noexcept {
  static constexpr char kBelow[] = "/.local/state";
  const std::size_t bytes = std::strlen(home);
  if (bytes + sizeof kBelow > kHomeBytes) return keep(home, kBelow);
  std::memcpy(g_home, home, bytes);  // NOLINT(bugprone-not-null-terminated-result): kBelow ends it
  std::memcpy(g_home + bytes, kBelow, sizeof kBelow);
  return g_home;
}

// The value where `entry` is "NAME=value".
template <std::size_t N>
const char* value_of(const char* entry, const char (&name)[N]) noexcept {
  return std::strncmp(entry, name, N - 1) == 0 && entry[N - 1] == '=' ? entry + N : nullptr;
}

// What the environment says, gathered in one pass: most programs have a hundred variables.
struct Variables {
  const char *mode, *timing, *order, *verbose, *trace, *buffers, *limit, *memory, *spill, *merge,
      *include, *exclude, *programs, *keep, *site, *record, *database, *prefetch, *schedule,
      *delivery, *cache, *logstore, *gather, *state, *home;
  bool other_rank;  // the launcher's variables name a rank that is not 0
};

IOTUNE_START_CODE void read_own_variable(const char* entry, Variables& found) noexcept {
  const auto take = [entry](const char*& to, const char* value) {
    if (value != nullptr && to == nullptr) to = value;
    return value != nullptr;
  };
  take(found.mode, value_of(entry, "IOTUNE_MODE")) ||
      take(found.timing, value_of(entry, "IOTUNE_TIMING")) ||
      take(found.order, value_of(entry, "IOTUNE_ORDER")) ||
      take(found.verbose, value_of(entry, "IOTUNE_VERBOSE")) ||
      take(found.trace, value_of(entry, "IOTUNE_TRACE")) ||
      take(found.buffers, value_of(entry, "IOTUNE_BUFFER_DIR")) ||
      take(found.limit, value_of(entry, "IOTUNE_BUFFER_LIMIT_MIB")) ||
      take(found.memory, value_of(entry, "IOTUNE_MEMORY_MIB")) ||
      take(found.spill, value_of(entry, "IOTUNE_SPILL_LIMIT_MIB")) ||
      take(found.merge, value_of(entry, "IOTUNE_MERGE_ABOVE_MIB")) ||
      take(found.include, value_of(entry, "IOTUNE_INCLUDE")) ||
      take(found.exclude, value_of(entry, "IOTUNE_EXCLUDE")) ||
      take(found.programs, value_of(entry, "IOTUNE_EXCLUDE_PROGRAMS")) ||
      take(found.keep, value_of(entry, "IOTUNE_KEEP_ABOVE_MIB")) ||
      take(found.site, value_of(entry, "IOTUNE_SITE_CONFIG")) ||
      take(found.record, value_of(entry, "IOTUNE_RECORD")) ||
      take(found.database, value_of(entry, "IOTUNE_DB")) ||
      take(found.prefetch, value_of(entry, "IOTUNE_PREFETCH")) ||
      take(found.schedule, value_of(entry, "IOTUNE_PREFETCH_SCHEDULE")) ||
      take(found.delivery, value_of(entry, "IOTUNE_PREFETCH_DELIVERY")) ||
      take(found.cache, value_of(entry, "IOTUNE_PREFETCH_MEMORY_MIB")) ||
      take(found.logstore, value_of(entry, "IOTUNE_LOGSTORE")) ||
      take(found.gather, value_of(entry, "IOTUNE_GATHER"));
}

IOTUNE_START_CODE void read_variable(const char* entry, Variables& found) noexcept {
  const char* rank = nullptr;
  switch (entry[0]) {
    case 'I':
      read_own_variable(entry, found);
      return;
    case 'H':
      if (found.home == nullptr) found.home = value_of(entry, "HOME");
      return;
    case 'X':
      if (found.state == nullptr) found.state = value_of(entry, "XDG_STATE_HOME");
      return;
    // Before MPI_Init only these tell the ranks apart.
    case 'P':
      rank = value_of(entry, "PMI_RANK");
      if (rank == nullptr) rank = value_of(entry, "PMIX_RANK");
      break;
    case 'O':
      rank = value_of(entry, "OMPI_COMM_WORLD_RANK");
      break;
    case 'S':
      rank = value_of(entry, "SLURM_PROCID");
      break;
    default:
      return;
  }
  if (rank != nullptr && *rank != '0' && *rank != '\0') found.other_rank = true;
}

const char* keep_if_any(const char* value) noexcept {
  return value == nullptr || *value == '\0' ? nullptr : keep(value);
}

struct Identity {
  bool open;
  dev_t device;
  ino_t inode;
};
IOTUNE_START_DATA constinit Identity g_stderr = {};

IOTUNE_START_CODE Identity identity_of_stderr() noexcept {
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  if (raw::call(SYS_newfstatat, 2, raw::word(""), raw::word(&status), kEmptyPath) != 0) return {};
  return {true, status.st_dev, status.st_ino};
}

// False where a line would go into the program's own data, or kill it: a pipe without a reader
// is a SIGPIPE, a file past its size limit a SIGXFSZ.
bool stderr_is_what_it_was() noexcept {
  const Identity now = identity_of_stderr();
  if (!g_stderr.open || !now.open || now.device != g_stderr.device || now.inode != g_stderr.inode) {
    return false;
  }
  struct rlimit limit {};
  const long at = raw::lseek(2, 0, SEEK_CUR);
  raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::word(&limit));
  if (at >= 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<std::uint64_t>(at) + 1024 > limit.rlim_cur) {
    return false;
  }
  struct pollfd ready {
    2, POLLOUT, 0
  };
  struct timespec at_once {};
  const long polled = raw::call(SYS_ppoll, raw::word(&ready), 1, raw::word(&at_once), 0, 8);
  return polled >= 0 && (ready.revents & (POLLERR | POLLNVAL)) == 0;
}

// The auxiliary vector has it without a system call.
IOTUNE_START_CODE const char* executed_path() noexcept {
  return reinterpret_cast<const char*>(getauxval(AT_EXECFN));
}

IOTUNE_START_CODE bool is_launcher_name() noexcept {
  const char* const path = executed_path();
  if (path == nullptr) return false;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* launcher :
       {"mpirun", "mpiexec", "hydra_pmi_proxy", "hydra_bstrap_proxy", "orterun", "orted",
        "ompirun_wrapper", "prterun", "prte", "prted", "srun", "slurmstepd"}) {
    const std::size_t bytes_of_name = std::strlen(launcher);
    // mpiexec.hydra, mpirun.mpich, mpirun.openmpi: a suffix after a dot is still the launcher.
    if (std::strncmp(name, launcher, bytes_of_name) == 0 &&
        (name[bytes_of_name] == '\0' || name[bytes_of_name] == '.')) {
      return true;
    }
  }
  return false;
}

// What can be no path, for it is longer than any: behind the working directory if it is relative.
IOTUNE_START_CODE bool is_path(const char* value) noexcept {
  constexpr std::size_t kBytes = 4096;
  const std::size_t bytes = std::strlen(value) + 1;
  if (bytes > kBytes) return false;
  if (bytes < kBytes / 4 || value[0] == '/') return true;
  char directory[kBytes];
  const long length = raw::getcwd(directory, sizeof directory);
  return length > 0 && static_cast<std::size_t>(length) + bytes <= kBytes;
}

// One that is no path counts as not said.
IOTUNE_START_CODE const char* keep_path(const char* name, const char* value) noexcept {
  const bool fits = value == nullptr || is_path(value);
  const char* const kept = fits ? keep_if_any(value) : nullptr;
  if (kept != nullptr || value == nullptr || *value == '\0') return kept;
  if (g_configuration.mode == Mode::kOff || g_configuration.is_launcher) return nullptr;
  ShortText<128> text;
  text << name << " is longer than the 4,095 bytes of a path: it is left out";
  say(text.c_str());
  return nullptr;
}

// A glob that no absolute path can match is a mistake, and so is a list that is too long to keep.
IOTUNE_START_CODE const char* keep_globs(const char* name, const char* value) noexcept {
  const char* const kept = keep_if_any(value);
  if (kept == nullptr) {
    if (value == nullptr || *value == '\0' || g_configuration.is_launcher) return nullptr;
    ShortText<128> text;
    text << name << " is longer than 16 KiB: it is left out";
    say(text.c_str());
    return nullptr;
  }
  if (g_configuration.is_launcher) return kept;
  for (const char* at = kept; at != nullptr; at = std::strchr(at, ':')) {
    if (*at == ':') ++at;
    if (*at == '/' || *at == '*' || *at == '?' || *at == ':' || *at == '\0') continue;
    const char* const end = std::strchr(at, ':');
    ShortText<512> text;
    text << name << ": '";
    text.add(at, end == nullptr ? std::strlen(at) : static_cast<std::size_t>(end - at));
    text << "' matches nothing: paths are absolute, a glob begins with / or *";
    say(text.c_str());
    break;
  }
  return kept;
}

// What is no number, or out of range, counts as not said.
IOTUNE_START_CODE void read_mebibytes(const char* text, std::uint64_t least,
                                      std::uint64_t& bytes) noexcept {
  if (text == nullptr || *text < '0' || *text > '9') return;
  const std::uint64_t mebibytes = parse_decimal(text);
  if (mebibytes >= least && mebibytes < (1u << 20)) bytes = mebibytes << 20;
}

// Why nothing is done, to be said where the program is not left out: each `ls` of a site would say
// it else.
constinit ShortText<512> g_why_off = {};

IOTUNE_START_CODE void keep_why_off(const char* text) noexcept {
  if (g_why_off.size() == 0) g_why_off << text;
}

IOTUNE_START_CODE void read_mode(const char* mode) noexcept {
  if (mode == nullptr || *mode == '\0' || std::strcmp(mode, "tune") == 0) {
    g_configuration.mode = Mode::kTune;
  } else if (std::strcmp(mode, "record") == 0) {
    g_configuration.mode = Mode::kRecord;
  } else {
    g_configuration.mode = Mode::kOff;
    if (std::strcmp(mode, "off") != 0) {
      ShortText<256> text;
      text << "IOTUNE_MODE=" << mode << " is none of tune, record, off: nothing is done";
      keep_why_off(text.c_str());
    }
  }
}

// Of what a run records when nobody looks for the calls themselves.
IOTUNE_START_CODE bool reads_sample(const char* record) noexcept {
  if (record != nullptr && std::strcmp(record, "sample") == 0) return true;
  if (record != nullptr && *record != '\0') {
    if (std::strcmp(record, "all") != 0 && !g_configuration.is_launcher) {
      ShortText<256> text;
      text << "IOTUNE_RECORD=" << record << " is none of all, sample: all is recorded";
      say(text.c_str());
    }
    return false;
  }
  const char* const prefetch = g_configuration.prefetch;
  return g_configuration.mode == Mode::kTune && g_configuration.trace_path == nullptr &&
         !g_configuration.time_every_call && !g_configuration.records_order &&
         (prefetch == nullptr || std::strcmp(prefetch, "none") == 0);
}

// A trace that was asked for is one of every program. "none" of the user's leaves out none of the
// everyday ones, too.
IOTUNE_START_CODE bool is_left_out(const StartedProgram& program, const char* listed,
                                   const SiteLimits& limits) noexcept {
  if (g_configuration.is_launcher || g_configuration.trace_path != nullptr) return false;
  const bool all = listed != nullptr && std::strcmp(listed, "none") == 0;
  return (!all && is_everyday_program(program)) || is_listed_program(limits.programs, program) ||
         is_listed_program(listed, program);
}

}  // namespace

const Configuration& configuration() noexcept {
  return g_configuration;
}

IOTUNE_START_CODE void read_configuration(const char* const* arguments) noexcept {
  g_stderr = identity_of_stderr();
  Variables found{};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    read_variable(*entry, found);
  }
  g_configuration.exact_times = found.timing != nullptr && std::strcmp(found.timing, "exact") == 0;
  g_configuration.time_every_call =
      g_configuration.exact_times ||
      (found.timing != nullptr && std::strcmp(found.timing, "call") == 0);
  g_configuration.records_order = found.order != nullptr && std::strcmp(found.order, "1") == 0;
  g_configuration.verbose = found.verbose != nullptr;
  g_configuration.prefetch = keep_if_any(found.prefetch);
  g_configuration.prefetch_schedule = keep_if_any(found.schedule);
  g_configuration.prefetch_delivery = keep_if_any(found.delivery);
  g_configuration.prefetch_memory_mib = keep_if_any(found.cache);
  g_configuration.logstore = keep_if_any(found.logstore);
  g_configuration.gather = keep_if_any(found.gather);
  read_mebibytes(found.limit, 1, g_configuration.buffer_limit_bytes);
  read_mebibytes(found.memory, 0, g_configuration.memory_bytes);
  read_mebibytes(found.spill, 0, g_configuration.spill_limit_bytes);
  read_mebibytes(found.merge, 0, g_configuration.merge_above_bytes);
  g_configuration.is_launcher = is_launcher_name();
  g_quiet_rank = found.other_rank;
  read_mode(found.mode);
  g_configuration.trace_path = keep_path("IOTUNE_TRACE", found.trace);
  g_configuration.buffer_root = keep_path("IOTUNE_BUFFER_DIR", found.buffers);
  g_configuration.state_home = keep_path("XDG_STATE_HOME", found.state);
  if (g_configuration.state_home == nullptr && found.home != nullptr && *found.home == '/') {
    g_configuration.state_home = keep_home(found.home);
  }
  if (g_configuration.mode == Mode::kOff && g_why_off.size() == 0) return;
  const SiteLimits limits = read_site_limits(found.site, keep_why_off);
  if (limits.most < g_configuration.mode) g_configuration.mode = limits.most;
  const bool left_out = is_left_out({executed_path(), arguments}, found.programs, limits);
  if (g_why_off.size() != 0 && !left_out && !g_configuration.is_launcher) say(g_why_off.c_str());
  if (left_out) g_configuration.mode = Mode::kOff;
  if (g_configuration.mode == Mode::kOff) return;
  if (limits.keep_above_mib != 0) g_configuration.keep_above_bytes = limits.keep_above_mib << 20;
  read_mebibytes(found.keep, 0, g_configuration.keep_above_bytes);
  g_configuration.frozen = limits.frozen;
  if (g_configuration.gather == nullptr && limits.gathers_stored) g_configuration.gather = "stored";
  const bool none = found.database != nullptr && std::strcmp(found.database, "none") == 0;
  g_configuration.learns = !limits.frozen && !none;
  g_configuration.share = limits.share;
  g_configuration.samples_files = reads_sample(found.record);
  g_configuration.include = keep_globs("IOTUNE_INCLUDE", found.include);
  g_configuration.exclude = keep_globs("IOTUNE_EXCLUDE", found.exclude);
}

void record_only() noexcept {
  if (g_configuration.mode == Mode::kTune) g_configuration.mode = Mode::kRecord;
}

void set_quiet_rank(bool quiet) noexcept {
  g_quiet_rank = quiet;
}
bool is_quiet_rank() noexcept {
  return g_quiet_rank;
}

bool may_say() noexcept {
  return !has_dropped_privileges() && stderr_is_what_it_was();
}

void say(const char* text) noexcept {
  if (g_quiet_rank || !may_say()) return;
  ShortText<1024> line;
  line << "iotune: " << text;
  char out[1026];
  std::memcpy(out, line.c_str(), line.size());
  out[line.size()] = '\n';
  // One write, so that lines of several processes do not mix.
  raw::write(2, out, line.size() + 1);
}

void say_on_any_rank(const char* text) noexcept {
  const bool was_quiet = g_quiet_rank;
  g_quiet_rank = false;
  say(text);
  g_quiet_rank = was_quiet;
}

void say_once(bool& once, const char* text) noexcept {
  if (__atomic_exchange_n(&once, true, __ATOMIC_RELAXED)) return;
  say(text);
}

}  // namespace iotune
