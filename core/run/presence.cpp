#include "core/run/presence.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/os/directory_entries.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/narrowing.h"
#include "core/process/process_facts.h"
#include "core/run/protocol_number.h"
#include "core/run/run_identity.h"

namespace iotune {
namespace {

using Path = ShortText<768>;

// Executables of one job may have come with several builds of iotune. Those whose ranks send each
// other other messages count apart, and so each finds that ranks are missing. The number is made
// from the sources that send and read messages (core/CMakeLists.txt).
constexpr char kPresence[] = "presence-" IOTUNE_PROTOCOL, kNode[] = "node-" IOTUNE_PROTOCOL ".";

// What is asked once a run: whether all ranks are loaded and whether all may tune, of this node
// alone and of all nodes.
constexpr char kAllHere[] = "all-here", kAllLoaded[] = "all-loaded", kAllTune[] = "all-tune";

constinit bool g_registered = false;
constinit bool g_first_on_node = false;
constinit std::uint64_t g_ordinal = 0;  // of this rank's registration on its node, from 1
constinit bool g_all_loaded = false;
constinit bool g_all_tune = false;
constinit std::uint64_t g_world_size = 0;

struct Counts {
  std::uint64_t loaded, tuning;
};
constinit int g_nodes = 1;
constinit int g_world_ranks = 0;

using Where = bool (*)(Path& path, const char* name) noexcept;

bool local_path(Path& path, const char* name) noexcept {
  const char* const directory = run_directory();
  if (directory == nullptr) return false;
  path.clear();
  path << directory << '/' << name;
  return !path.cut();
}

// A directory that all nodes see: below the state directory, which is in the home.
bool shared_path(Path& path, const char* name) noexcept {
  if (!run_id_is_global() || configuration().state_home == nullptr) return false;
  path.clear();
  path << configuration().state_home << "/iotune/runs/" << run_id();
  if (name != nullptr) path << '/' << name;
  return !path.cut();
}

// Ranks on this node and in all, as the launcher tells; equal means one node.
bool launcher_says_one_node() noexcept {
  constexpr const char* kPairs[][2] = {{"MPI_LOCALNRANKS", "PMI_SIZE"},
                                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}};
  for (const auto& pair : kPairs) {
    const char* const local = std::getenv(pair[0]);
    const char* const all = std::getenv(pair[1]);
    if (local != nullptr && all != nullptr) return std::strcmp(local, all) == 0;
  }
  const char* const nodes = std::getenv("SLURM_STEP_NUM_NODES");
  return nodes != nullptr && std::strcmp(nodes, "1") == 0;
}

void make_directories(const char* path) noexcept {
  Path part;
  for (const char* at = path;; ++at) {
    if ((*at == '/' || *at == '\0') && at != path) {
      part.clear();
      part.add(path, static_cast<std::size_t>(at - path));
      raw::mkdir(part.c_str(), 0700);
    }
    if (*at == '\0') break;
  }
}

// A question begins with a file of this name. "Yes" gives it another name, "no" removes it: of two
// answers the later finds it gone, so that the first one holds for all. To remove a file takes no
// space: a rank whose disk or quota is full can always say no, and nobody waits for one that could
// not make itself heard. Where even this first name cannot be had, at registration, the rank does
// not count. (A link or a file made at the answer may fail on one rank and be made by a later one.
// Two names on one inode would take no inode of a quota, but one of tmpfs's, and not all file
// systems have them.)
bool open_name(Where where, Path& path, const char* question) noexcept {
  ShortText<64> name;
  name << question << ".open";
  return where(path, name.c_str());
}

// A run id may serve more than one world (a requeued job, several launches in one step): a "yes"
// holds only for a world of its size, and only for the ranks that were counted for it.
bool yes_name(Where where, Path& path, const char* question, std::uint64_t size) noexcept {
  ShortText<64> name;
  name << question << ".yes-" << size;
  return where(path, name.c_str());
}

bool ask(Where where, const char* question) noexcept {
  Path path;
  if (!open_name(where, path, question)) return false;
  const int fd = raw::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) raw::close(fd);
  return fd >= 0;
}

void forget(Where where, const char* question) noexcept {
  Path path;
  if (yes_name(where, path, question, g_world_size)) raw::unlink(path.c_str());
  if (open_name(where, path, question)) raw::unlink(path.c_str());
}

void remove_directory(const Path& path) noexcept {
  constexpr long kRemoveDirectory = 0x200;  // AT_REMOVEDIR
  raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(path.c_str()), kRemoveDirectory);
}

bool fresh_shared_path(Path& path, const char* name) noexcept {
  if (!shared_path(path, nullptr)) return false;
  path << '.' << host_name() << '.' << raw::getpid();
  if (name != nullptr) path << '/' << name;
  return !path.cut();
}

// It comes with its questions, once: asked later they might be asked again after an answer.
void make_shared_directory() noexcept {
  Path directory, fresh;
  if (!shared_path(directory, nullptr) || !fresh_shared_path(fresh, nullptr)) return;
  make_directories(fresh.c_str());
  const bool whole = ask(fresh_shared_path, kAllLoaded) && ask(fresh_shared_path, kAllTune);
  // Fails where there is one already: it has the counts of a node.
  if (whole && raw::rename(fresh.c_str(), directory.c_str()) == 0) return;
  forget(fresh_shared_path, kAllLoaded);
  forget(fresh_shared_path, kAllTune);
  remove_directory(fresh);
}

// The counts of this node, made known to the others: one link a node, replaced whole.
void publish_node_counts(const Counts& counts) noexcept {
  Path link, fresh;
  ShortText<128> name;
  name << kNode << host_name();
  if (!shared_path(link, name.c_str())) return;
  name << '.' << raw::getpid();
  if (!shared_path(fresh, name.c_str())) return;
  ShortText<48> content;
  content << counts.loaded << ',' << counts.tuning;
  int made = raw::symlink(content.c_str(), fresh.c_str());
  if (made != 0) {
    make_shared_directory();
    raw::unlink(fresh.c_str());
    made = raw::symlink(content.c_str(), fresh.c_str());
  }
  if (made == 0) raw::rename(fresh.c_str(), link.c_str());
}

Counts local_counts() noexcept {
  Path path;
  if (!local_path(path, kPresence)) return {};
  const int fd = raw::open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return {};
  Counts counts{};
  if (raw::read(fd, &counts, sizeof counts) != sizeof counts) counts = {};
  raw::close(fd);
  return counts;
}

Counts read_link(const char* path) noexcept {
  char content[48];
  const long bytes = raw::readlink(path, content, sizeof content - 1);
  if (bytes <= 0) return {};
  content[bytes] = '\0';
  const char* const comma = std::strchr(content, ',');
  return {parse_decimal(content), comma == nullptr ? 0 : parse_decimal(comma + 1)};
}

// Sum over the nodes' links.
Counts shared_counts() noexcept {
  Path path;
  g_nodes = 0;
  if (!shared_path(path, nullptr)) return {};
  const int fd = raw::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return {};
  alignas(8) char entries[8192];
  Counts sum{};
  for_each_entry(fd, entries, [&](const char* name) noexcept {
    if (!starts_with(name, kNode)) return true;
    if (std::strchr(name + sizeof kNode - 1, '.') != nullptr) return true;
    Path link;
    if (shared_path(link, name)) {
      const Counts counts = read_link(link.c_str());
      sum.loaded += counts.loaded;
      sum.tuning += counts.tuning;
    }
    ++g_nodes;
    return true;
  });
  raw::close(fd);
  return sum;
}

// The answer that holds. `first`: this rank's "no" is that.
bool answer(Where where, const char* question, bool yes, std::uint64_t size, bool& first) noexcept {
  Path open, renamed, directory;
  first = false;
  if (!open_name(where, open, question) || !yes_name(where, renamed, question, size)) return false;
  if (!yes || raw::rename(open.c_str(), renamed.c_str()) != 0) {
    first = raw::unlink(open.c_str()) == 0;
  }
  // NFS may have kept that the name is not there: what it knows of a directory is asked anew when
  // that is opened.
  const std::size_t bytes =
      static_cast<std::size_t>(std::strrchr(open.c_str(), '/') - open.c_str());
  directory.add(open.c_str(), bytes);
  const int fd = raw::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd >= 0) raw::close(fd);
  return raw::call(SYS_faccessat, raw::kAtFdcwd, raw::word(renamed.c_str()), 0) == 0 &&
         g_ordinal <= size;
}

}  // namespace

void register_presence() noexcept {
  if (g_registered || is_narrowed()) return;
  Path path;
  if (!local_path(path, kPresence)) return;
  const int fd = raw::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  if (raw::call(SYS_flock, fd, LOCK_EX) == 0) {
    Counts counts{};
    const long had = raw::read(fd, &counts, sizeof counts);
    if (had != sizeof counts) counts = {};
    g_first_on_node = counts.loaded == 0;
    if (g_first_on_node && (!ask(local_path, kAllHere) || !ask(local_path, kAllTune))) {
      raw::close(fd);
      return;
    }
    g_ordinal = ++counts.loaded;
    if (configuration().mode == Mode::kTune) ++counts.tuning;
    struct rlimit limit {};
    raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::word(&limit));
    if (limit.rlim_cur < sizeof counts) {  // a write past it is a SIGXFSZ
      raw::close(fd);
      return;
    }
    raw::lseek(fd, 0, SEEK_SET);
    g_registered = raw::write(fd, &counts, sizeof counts) == sizeof counts;
    if (g_registered && !launcher_says_one_node()) publish_node_counts(counts);
  }
  raw::close(fd);
}

namespace {

// All of it by the one process whose "no" holds: rank 0, which else speaks, may be the one without
// us.
void say_who_is_missing(std::uint64_t loaded, int world_size) noexcept {
  ShortText<192> text;
  if (loaded == static_cast<std::uint64_t>(world_size)) {
    say_on_any_rank("what the ranks agree on cannot be written (a full disk?): nothing is tuned");
    return;
  }
  text << "libiotune.so records in " << loaded << " of " << world_size
       << " ranks: nothing is tuned, and the next iotune command joins their traces";
  say_on_any_rank(text.c_str());
}

// Only where some tune and others do not: a run that only records has nothing to say.
void say_modes_differ(std::uint64_t tuning, int world_size) noexcept {
  if (tuning == 0) return;
  ShortText<192> text;
  text << "IOTUNE_MODE differs (or the job's id, of which a site's share is drawn): " << tuning
       << " of " << world_size << " ranks may tune: nothing is tuned";
  say_on_any_rank(text.c_str());
}

}  // namespace

bool settle_presence(int world_size) noexcept {
  g_world_ranks = world_size;
  g_all_loaded = g_all_tune = false;
  bool first = false;
  // A rank that others have counted must hear what they hear, and MPI_Init makes system calls
  // anyway.
  if (is_narrowed() && !g_registered) return false;
  if (world_size <= 0 || run_directory() == nullptr) return false;
  const std::uint64_t size = g_world_size = static_cast<std::uint64_t>(world_size);
  const Counts local = local_counts();
  if (answer(local_path, kAllHere, g_registered && local.loaded == size, size, first)) {
    g_all_tune = answer(local_path, kAllTune, local.tuning == size, size, first);
    if (!g_all_tune && first) say_modes_differ(local.tuning, world_size);
    return g_all_loaded = true;
  }
  Path shared;
  if (launcher_says_one_node() || !shared_path(shared, nullptr)) {
    if (first) say_who_is_missing(local.loaded, world_size);
    return false;
  }
  const Counts all = shared_counts();
  g_all_loaded = answer(shared_path, kAllLoaded, g_registered && all.loaded == size, size, first);
  if (!g_all_loaded && first) say_who_is_missing(all.loaded, world_size);
  g_all_tune = answer(shared_path, kAllTune, g_registered && all.tuning == size, size, first) &&
               g_all_loaded;
  if (g_all_loaded && !g_all_tune && first) say_modes_differ(all.tuning, world_size);
  return g_all_loaded;
}

bool all_ranks_tune() noexcept {
  return g_all_tune;
}

int world_ranks() noexcept {
  return g_world_ranks;
}

int run_nodes() noexcept {
  return g_nodes < 1 ? 1 : g_nodes;
}

bool all_ranks_loaded() noexcept {
  return g_all_loaded;
}

void remove_presence_files() noexcept {
  if (!g_first_on_node || is_narrowed()) return;
  // The counts last: who comes before that is counted behind this world, who comes after it anew.
  Path path;
  forget(local_path, kAllHere);
  forget(local_path, kAllTune);
  if (local_path(path, kPresence)) raw::unlink(path.c_str());
  if (launcher_says_one_node()) return;
  forget(shared_path, kAllLoaded);
  forget(shared_path, kAllTune);
  ShortText<128> node;
  node << kNode << host_name();
  if (shared_path(path, node.c_str())) raw::unlink(path.c_str());
  if (shared_path(path, nullptr)) remove_directory(path);
}

}  // namespace iotune
