#include "recorder/preload/configuration.h"

#include <poll.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/short_text.h"

namespace iotune::recorder {
namespace {

constinit Configuration g_configuration;
constinit bool g_quiet_rank = false;

// Programs may change their environment while we run: every value is copied once.
constexpr std::size_t kTextBytes = 16384;
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

const char* keep_variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : keep(value);
}

struct Identity {
  bool open;
  dev_t device;
  ino_t inode;
};
constinit Identity g_stderr = {};

Identity identity_of_stderr() noexcept {
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

bool is_launcher_name() noexcept {
  // The auxiliary vector has it without a system call.
  const auto* const path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (path == nullptr) return false;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* launcher : {"mpirun", "mpiexec", "hydra_pmi_proxy", "hydra_bstrap_proxy",
                               "orterun", "orted", "prterun", "prted", "srun", "slurmstepd"}) {
    const std::size_t bytes_of_name = std::strlen(launcher);
    // mpiexec.hydra, mpirun.mpich, mpirun.openmpi: a suffix after a dot is still the launcher.
    if (std::strncmp(name, launcher, bytes_of_name) == 0 &&
        (name[bytes_of_name] == '\0' || name[bytes_of_name] == '.')) {
      return true;
    }
  }
  return false;
}

void read_mode() noexcept {
  const char* const mode = std::getenv("IOTUNE_MODE");
  if (mode == nullptr || *mode == '\0' || std::strcmp(mode, "tune") == 0) {
    g_configuration.mode = Mode::kTune;
  } else if (std::strcmp(mode, "record") == 0) {
    g_configuration.mode = Mode::kRecord;
  } else {
    g_configuration.mode = Mode::kOff;
    if (std::strcmp(mode, "off") != 0 && !g_configuration.is_launcher) {
      ShortText<256> text;
      text << "IOTUNE_MODE=" << mode << " is none of tune, record, off: nothing is done";
      say(text.c_str());
    }
  }
}

}  // namespace

const Configuration& configuration() noexcept {
  return g_configuration;
}

void read_configuration() noexcept {
  g_stderr = identity_of_stderr();
  const char* const timing = std::getenv("IOTUNE_TIMING");
  g_configuration.time_every_call = timing != nullptr && std::strcmp(timing, "call") == 0;
  g_configuration.verbose = std::getenv("IOTUNE_VERBOSE") != nullptr;
  g_configuration.trace_path = keep_variable("IOTUNE_TRACE");
  g_configuration.buffer_root = keep_variable("IOTUNE_BUFFER_DIR");
  g_configuration.include = keep_variable("IOTUNE_INCLUDE");
  g_configuration.exclude = keep_variable("IOTUNE_EXCLUDE");
  g_configuration.state_home = keep_variable("XDG_STATE_HOME");
  if (g_configuration.state_home == nullptr) {
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home == '/') g_configuration.state_home = keep(home, "/.local/state");
  }
  const char* const limit = std::getenv("IOTUNE_BUFFER_LIMIT_MIB");
  if (limit != nullptr && parse_decimal(limit) > 0 && parse_decimal(limit) < (1u << 20)) {
    g_configuration.buffer_limit_bytes = parse_decimal(limit) << 20;
  }
  g_configuration.is_launcher = is_launcher_name();
  // Before MPI_Init only the launcher's variables tell the ranks apart.
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr && *rank != '0' && *rank != '\0') g_quiet_rank = true;
  }
  read_mode();
}

void set_quiet_rank(bool quiet) noexcept {
  g_quiet_rank = quiet;
}
bool is_quiet_rank() noexcept {
  return g_quiet_rank;
}

void say(const char* text) noexcept {
  if (g_quiet_rank || !stderr_is_what_it_was()) return;
  ShortText<1024> line;
  line << "iotune: " << text;
  char out[1026];
  std::memcpy(out, line.c_str(), line.size());
  out[line.size()] = '\n';
  // One write, so that lines of several processes do not mix.
  raw::write(2, out, line.size() + 1);
}

void say_once(bool& once, const char* text) noexcept {
  if (__atomic_exchange_n(&once, true, __ATOMIC_RELAXED)) return;
  say(text);
}

}  // namespace iotune::recorder
