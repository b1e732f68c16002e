#include "recorder/preload/presence.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/preload/configuration.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/short_text.h"

namespace iotune::recorder {
namespace {

using Path = ShortText<768>;

// The number of the talk among ranks (the tuner's agreement, the merging of traces), to be raised
// whenever that changes. Executables of one job may have come with several versions of iotune:
// those that talk differently count apart, and so each finds that ranks are missing.
#define IOTUNE_TALK "-1"
constexpr char kPresence[] = "presence" IOTUNE_TALK, kNode[] = "node" IOTUNE_TALK ".";
#undef IOTUNE_TALK

constinit bool g_registered = false;
constinit bool g_first_on_node = false;
constinit std::uint64_t g_ordinal = 0;  // of this rank's registration on its node, from 1
constinit bool g_all_loaded = false;
constinit bool g_all_tune = false;

struct Counts {
  std::uint64_t loaded, tuning;
};
constinit int g_nodes = 1;

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

// The counts of this node, made known to the others: one link a node, replaced whole.
void publish_node_counts(const Counts& counts) noexcept {
  Path directory, link, fresh;
  if (!shared_path(directory, nullptr)) return;
  make_directories(directory.c_str());
  ShortText<128> name;
  name << kNode << host_name();
  shared_path(link, name.c_str());
  name << '.' << raw::getpid();
  shared_path(fresh, name.c_str());
  ShortText<48> content;
  content << counts.loaded << ',' << counts.tuning;
  raw::unlink(fresh.c_str());
  if (raw::symlink(content.c_str(), fresh.c_str()) == 0) raw::rename(fresh.c_str(), link.c_str());
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
  for (;;) {
    const long bytes = raw::call(SYS_getdents64, fd, raw::word(entries), sizeof entries);
    if (bytes <= 0) break;
    // linux_dirent64: u64 inode, s64 offset, u16 record bytes, u8 type, name
    for (long at = 0; at < bytes;) {
      std::uint16_t record = 0;
      std::memcpy(&record, entries + at + 16, sizeof record);
      const char* const name = entries + at + 19;
      at += record;
      if (!starts_with(name, kNode)) continue;
      if (std::strchr(name + sizeof kNode - 1, '.') != nullptr) continue;
      Path link;
      if (shared_path(link, name)) {
        const Counts counts = read_link(link.c_str());
        sum.loaded += counts.loaded;
        sum.tuning += counts.tuning;
      }
      ++g_nodes;
    }
  }
  raw::close(fd);
  return sum;
}

bool publish(const Path& path, bool answer, std::uint64_t size, bool& first) noexcept {
  // A run id may serve more than one world (a requeued job, several launches in one step): a
  // "yes" holds only for a world of its size, and only for the ranks that were counted for it.
  ShortText<32> yes;
  yes << "yes-" << size;
  first = raw::symlink(answer ? yes.c_str() : "no", path.c_str()) == 0;
  char content[32] = "";
  const long bytes = raw::readlink(path.c_str(), content, sizeof content - 1);
  return bytes > 0 && std::strcmp(content, yes.c_str()) == 0 && g_ordinal <= size;
}

}  // namespace

void register_presence() noexcept {
  if (g_registered) return;
  Path path;
  if (!local_path(path, kPresence)) return;
  const int fd = raw::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  if (raw::call(SYS_flock, fd, LOCK_EX) == 0) {
    Counts counts{};
    const long had = raw::read(fd, &counts, sizeof counts);
    if (had != sizeof counts) counts = {};
    g_first_on_node = counts.loaded == 0;
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

// By the one process whose "no" holds: rank 0, which else speaks, may be the one without us.
void say_anyway(const char* text) noexcept {
  const bool was_quiet = is_quiet_rank();
  set_quiet_rank(false);
  say(text);
  set_quiet_rank(was_quiet);
}

void say_who_is_missing(std::uint64_t loaded, int world_size) noexcept {
  ShortText<192> text;
  text << "libiotune.so records in " << loaded << " of " << world_size
       << " ranks: nothing is tuned, and the next iotune command joins their traces";
  say_anyway(text.c_str());
}

// Only where some tune and others do not: a run that only records has nothing to say.
void say_modes_differ(std::uint64_t tuning, int world_size) noexcept {
  if (tuning == 0) return;
  ShortText<192> text;
  text << "IOTUNE_MODE differs: " << tuning << " of " << world_size
       << " ranks may tune: nothing is tuned";
  say_anyway(text.c_str());
}

}  // namespace

bool settle_presence(int world_size) noexcept {
  g_all_loaded = g_all_tune = false;
  bool first = false;
  Path here, tune_here;
  const auto size = static_cast<std::uint64_t>(world_size);
  if (world_size <= 0 || !local_path(here, "all-here") || !local_path(tune_here, "all-tune")) {
    return false;
  }
  const Counts local = local_counts();
  if (publish(here, g_registered && local.loaded == size, size, first)) {
    g_all_tune = publish(tune_here, local.tuning == size, size, first);
    if (!g_all_tune && first) say_modes_differ(local.tuning, world_size);
    return g_all_loaded = true;
  }
  Path loaded, tune;
  if (launcher_says_one_node() || !shared_path(loaded, "all-loaded") ||
      !shared_path(tune, "all-tune")) {
    if (first) say_who_is_missing(local.loaded, world_size);
    return false;
  }
  const Counts all = shared_counts();
  g_all_loaded = publish(loaded, g_registered && all.loaded == size, size, first);
  if (!g_all_loaded && first) say_who_is_missing(all.loaded, world_size);
  g_all_tune = publish(tune, g_registered && all.tuning == size, size, first) && g_all_loaded;
  if (g_all_loaded && !g_all_tune && first) say_modes_differ(all.tuning, world_size);
  return g_all_loaded;
}

bool all_ranks_tune() noexcept {
  return g_all_tune;
}

int run_nodes() noexcept {
  return g_nodes < 1 ? 1 : g_nodes;
}

bool all_ranks_loaded() noexcept {
  return g_all_loaded;
}

void remove_presence_files() noexcept {
  if (!g_first_on_node) return;
  Path path;
  for (const char* name : {kPresence, "all-here", "all-tune"}) {
    if (local_path(path, name)) raw::unlink(path.c_str());
  }
  if (launcher_says_one_node()) return;
  ShortText<128> node;
  node << kNode << host_name();
  for (const char* name : {node.c_str(), "all-loaded", "all-tune"}) {
    if (shared_path(path, name)) raw::unlink(path.c_str());
  }
  constexpr long kRemoveDirectory = 0x200;  // AT_REMOVEDIR
  if (shared_path(path, nullptr)) {
    raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(path.c_str()), kRemoveDirectory);
  }
}

}  // namespace iotune::recorder
