#include "core/run/run_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/files/process_files.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/process_events.h"
#include "core/process/process_facts.h"

namespace iotune {

constinit RunDirectoryMade g_run_directory_made = nullptr;

namespace {

constinit ShortText<128> g_run_id;
constinit ShortText<512> g_directory, g_root;
constinit bool g_global = false;
constinit bool g_owned = false;
constinit bool g_directory_failed = false;
// The child may have another user, or another root.
constinit AfterFork g_after_fork([]() noexcept { g_directory_failed = false; });

bool is_safe(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

void append_safe(const char* text) noexcept {
  for (; *text != '\0'; ++text) g_run_id << (is_safe(*text) ? *text : '-');
}

bool is_proxy(long pid) noexcept {
  ShortText<64> path;
  path << "/proc/" << pid << "/comm";
  char name[32];
  read_text(path.c_str(), name);
  for (const char* proxy : {"hydra_pmi_proxy", "hydra_pmi_prox", "orted", "mpirun", "orterun",
                            "prte", "slurmstepd", "mpiexec"}) {
    if (starts_with(name, proxy)) return true;
  }
  return false;
}

// The launcher's proxy that is the parent, or above it with at most so many between; 0: none.
long proxy_above(int most_between) noexcept {
  long pid = raw::getppid();
  for (int i = 0; i <= most_between && pid > 0; ++i) {
    if (is_proxy(pid)) return pid;
    pid = parent_of(pid);
  }
  return 0;
}

void choose_run_id(int most_between) noexcept {
  const char* const given = std::getenv("IOTUNE_RUN_ID");
  if (given != nullptr && *given != '\0') {
    append_safe(given);
    g_global = g_owned = true;
    return;
  }
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const step = std::getenv("SLURM_STEP_ID");
  if (job != nullptr && step != nullptr && std::getenv("SLURM_PROCID") != nullptr) {
    g_run_id << "slurm-";
    append_safe(job);
    g_run_id << '-';
    append_safe(step);
    // A requeued job has the ids of before, and finds what that left.
    const char* const restarts = std::getenv("SLURM_RESTART_COUNT");
    if (restarts != nullptr && *restarts != '\0' && std::strcmp(restarts, "0") != 0) {
      g_run_id << "-r";
      append_safe(restarts);
    }
    g_global = true;
    return;
  }
  if (const long proxy = proxy_above(most_between); proxy != 0) {
    g_run_id << "proxy-" << proxy << '-' << process_start_time(proxy);
    return;
  }
  g_run_id << "pid-" << raw::getpid() << '-' << process_start_time(raw::getpid());
}

// Makes `path` where it is missing; true where it is then a directory of this user that
// nobody else can write to. `made`: by this call.
bool private_directory(const char* path, bool& made) noexcept {
  made = raw::mkdir(path, 0700) == 0;
  struct stat status {};
  // O_NOFOLLOW: a link planted in a shared directory is not ours.
  const Descriptor folder(raw::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  return raw::call(SYS_newfstatat, folder.get(), raw::word(""), raw::word(&status), kEmptyPath) ==
             0 &&
         static_cast<long>(status.st_uid) == raw::getuid() && (status.st_mode & 022) == 0;
}

}  // namespace

std::uint64_t process_start_time(long pid) noexcept {
  return process_stat(static_cast<std::uint64_t>(pid)).start;
}
long parent_of(long pid) noexcept {
  return static_cast<long>(process_stat(static_cast<std::uint64_t>(pid)).parent);
}

void set_run_id_of_launcher() noexcept {
  // `iotune run` is the launcher's parent and has named the run already; any other inherited
  // id belongs to another run.
  const char* const owner = std::getenv("IOTUNE_RUN_OWNER");
  if (owner != nullptr && static_cast<long>(parse_decimal(owner)) == raw::getppid()) return;
  // srun and slurmstepd have the job's own ids; an mpirun inside a step needs one of its own.
  if (std::strstr(program_path(), "/srun") != nullptr ||
      std::strstr(program_path(), "/slurmstepd") != nullptr) {
    return;
  }
  // Proxies are the launcher's children and keep its id.
  const char* const launcher = std::getenv("IOTUNE_LAUNCHER");
  if (launcher != nullptr && std::getenv("IOTUNE_RUN_ID") != nullptr) {
    const auto pid = static_cast<long>(parse_decimal(launcher));
    if (pid == raw::getppid() || pid == raw::getpid()) return;
  }
  ShortText<128> id;
  id << "mpi-" << clock_ns(CLOCK_REALTIME) / 1000 << '-' << raw::getpid();
  ShortText<32> pid;
  pid << raw::getpid();
  setenv("IOTUNE_RUN_ID", id.c_str(), 1);
  setenv("IOTUNE_LAUNCHER", pid.c_str(), 1);
}

const char* run_id() noexcept {
  if (g_run_id.size() == 0) choose_run_id(0);
  return g_run_id.c_str();
}

const char* job_or_run_id() noexcept {
  for (const char* const name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) {
    const char* const job = std::getenv(name);
    if (job != nullptr && *job != '\0') return job;
  }
  return run_id();
}

void join_run_of_launcher() noexcept {
  constexpr int kMostBetween = 8;
  const bool is_rank = std::getenv("PMI_RANK") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
                       std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  if (!is_rank || g_directory.size() > 0 || !run_is_this_process()) return;
  g_run_id.clear();
  choose_run_id(kMostBetween);
}

bool run_id_is_global() noexcept {
  run_id();
  return g_global;
}

bool run_has_owner() noexcept {
  run_id();
  return g_owned;
}

void tell_owner_of_this_process() noexcept {
  const char* const witness = std::getenv("IOTUNE_RUN_SEEN");
  if (witness == nullptr || *witness != '/') return;
  raw::call(SYS_utimensat, raw::kAtFdcwd, raw::word(witness), 0, 0);  // a file that is there: now
}

bool run_is_this_process() noexcept {
  return starts_with(run_id(), "pid-");
}

namespace {
void add_buffer_root(ShortText<512>& path) noexcept {
  if (configuration().buffer_root != nullptr) {
    path << configuration().buffer_root;
  } else {
    path << "/dev/shm/iotune-" << raw::getuid();
  }
}
}  // namespace

const char* private_buffer_root() noexcept {
  if (g_root.size() == 0) add_buffer_root(g_root);
  bool made = false;
  return !g_root.cut() && private_directory(g_root.c_str(), made) ? g_root.c_str() : nullptr;
}

const char* run_directory() noexcept {
  if (g_directory_failed) return nullptr;
  if (g_directory.size() > 0) return g_directory.c_str();
  ShortText<512> path;
  add_buffer_root(path);
  bool made = false;
  bool good = private_directory(path.c_str(), made);
  const std::size_t root_bytes = path.size();
  path << '/' << run_id();
  good = good && !path.cut() && private_directory(path.c_str(), made);
  if (!good) {
    static constinit bool said = false;
    ShortText<640> text;
    text << path.c_str()
         << " cannot be made a private directory: nothing is recorded (IOTUNE_BUFFER_DIR names "
            "another place)";
    say_once(said, text.c_str());
    g_directory_failed = true;
    g_after_fork.enlist();
    return nullptr;
  }
  g_directory = path;
  if (made) {
    ShortText<512> root;
    root.add(path.c_str(), root_bytes);
    if (g_run_directory_made != nullptr) g_run_directory_made(root.c_str());
  }
  return g_directory.c_str();
}

}  // namespace iotune
