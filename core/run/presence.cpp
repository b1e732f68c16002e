#include "core/run/presence.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "core/files/file_lock.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/size_limit.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/run/answering_place.h"
#include "core/run/launcher_ranks.h"
#include "core/run/protocol_version.h"
#include "core/run/run_folder.h"
#include "core/run/run_identity.h"

namespace iotune {
namespace {

// Executables of one job may have come with several builds of iotune. Those whose ranks send each
// other other messages count apart, and so each finds that ranks are missing. The number is made
// from the sources that send and read messages (core/CMakeLists.txt).
constexpr char kPresence[] = "presence-" IOTUNE_PROTOCOL_VERSION;
// Made by the rank that says who is missing; named as a record, so that leftovers.cpp removes it.
constexpr char kSaid[] = "presence-0";

// What this node's ranks have in common, in a file of the run's directory. A process that reads or
// changes it holds its lock, over calls on the run's folder as well: one rank a node makes these,
// and the others wait for it or its end.
struct NodeRecord {
  RankCounts counts;
  RankCounts published;  // as the other nodes know them, 0 ranks: not at all
  // The answer: for a world of `size`, 0 where there is none yet; it holds for the first `counted`
  // ranks of this node.
  std::uint64_t size, counted, nodes, all_loaded, all_tune, all_log, all_gather;

  void set(const AllRanks& all) noexcept {
    all_loaded = all.loaded ? 1 : 0;
    all_tune = all.tune ? 1 : 0;
    all_log = all.log ? 1 : 0;
    all_gather = all.gather ? 1 : 0;
  }
  AllRanks all() const noexcept {
    return {all_loaded != 0, all_tune != 0, all_log != 0, all_gather != 0};
  }
};
static_assert(sizeof(NodeRecord) == kPresenceBytes);

// Of this process.
struct Own {
  bool keeps_logs = false, gathers = false;
  bool registered = false;
  std::uint64_t ordinal = 0;  // of its registration on its node, from 1
  NodeRecord node{};          // as it was at the answer
  AllRanks all{};
  int world_ranks = 0;
};
constinit Own g_own;

using Path = ShortText<768>;

bool local_path(Path& path, const char* name) noexcept {
  const char* const directory = run_directory();
  path.clear();
  path << directory << '/' << name;
  return directory != nullptr && !path.cut();
}

// The node's record, locked until this object ends.
class LockedRecord {
 public:
  explicit LockedRecord(bool make) noexcept {
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0);
    if (!local_path(path_, kPresence)) return;
    file_.emplace(Descriptor(raw::open(path_.c_str(), flags, 0600)));
    const long had = file_->held() ? raw::read(file_->fd(), &record, sizeof record) : -1;
    if (had != sizeof record) record = {};
    // One that was removed meanwhile had an answer that could not be written.
    struct stat status {};
    constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
    held_ = had >= 0 &&
            raw::call(SYS_newfstatat, file_->fd(), raw::word(""), raw::word(&status), kEmptyPath) ==
                0 &&
            status.st_nlink > 0;
  }

  bool held() const noexcept { return held_; }

  bool store() noexcept {
    return within_size_limit(sizeof record) &&
           raw::call(SYS_pwrite64, file_->fd(), raw::word(&record), sizeof record, 0) ==
               sizeof record;
  }
  // The ranks that find nothing take it for a no.
  void remove() noexcept { raw::unlink(path_.c_str()); }

  NodeRecord record{};

 private:
  Path path_;
  std::optional<FileLock> file_;
  bool held_ = false;
};

// Before MPI_Init, by the rank whose registration fills the node; where the launcher does not say
// how many ranks that takes, by each.
bool publish(const NodeRecord& node) noexcept {
  if (launcher_says_one_node() || !has_run_folder()) return false;
  const std::uint64_t ranks = ranks_on_this_node();
  if (ranks != 0 && node.counts.loaded != ranks) return false;
  // A node whose home does not answer publishes nothing, so that all leave alone. From here on it
  // waits for the home as long as that takes.
  if (!place_answers(configuration().state_home)) return false;
  const SaysWhereItWaits waiting(configuration().state_home);
  return ranks == 0 ? publish_node_so_far(node.counts) : publish_node(node.counts);
}

}  // namespace

void announce_service(JointService service) noexcept {
  (service == JointService::kLogs ? g_own.keeps_logs : g_own.gathers) = true;
}

void register_presence() noexcept {
  if (g_own.registered || has_dropped_privileges()) return;
  LockedRecord file(true);
  NodeRecord& node = file.record;
  if (!file.held()) return;
  g_own.ordinal = ++node.counts.loaded;
  if (configuration().mode == Mode::kTune) ++node.counts.tuning;
  if (g_own.keeps_logs) ++node.counts.logging;
  if (g_own.gathers) ++node.counts.gathering;
  if (!(g_own.registered = file.store())) return;
  // An answer that was given before holds.
  if (node.size == 0 && publish(node)) {
    node.published = node.counts;
    file.store();
  }
}

namespace {

constexpr char kNoRoom[] =
    "what the ranks agree on cannot be written (a full disk?): nothing is tuned";

// One line a node, whichever builds its ranks have: their records are apart, and in each one rank
// answers.
bool is_first_to_say() noexcept {
  Path path;
  if (!local_path(path, kSaid)) return true;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const int fd = raw::open(path.c_str(), flags, 0600);
  if (fd >= 0) raw::close(fd);
  return fd != -EEXIST;
}

// All of it by the one process whose "no" holds: rank 0, which else speaks, may be the one without
// us.
void say_who_is_missing(const ShortText<96>& loaded) noexcept {
  if (has_dropped_privileges() || !is_first_to_say()) return;
  ShortText<256> text;
  text << "libiotune.so records in " << loaded.c_str()
       << ": nothing is tuned, and the next iotune command joins their traces";
  say_on_any_rank(text.c_str());
}

// Of a "no", where nobody knows of more ranks than these.
void say_missing(std::uint64_t loaded, std::uint64_t of, const char* where) noexcept {
  if (loaded > of) {
    ShortText<256> text;
    text << loaded << " processes were started together, but the MPI run of this one has " << of
         << (of == 1 ? " rank" : " ranks")
         << ": is the launcher that of the program's MPI? (iotune doctor) Nothing is tuned";
    say_on_any_rank(text.c_str());
    return;
  }
  if (loaded == of) {
    say_on_any_rank(kNoRoom);
    return;
  }
  ShortText<96> text;
  text << loaded << " of " << of << " ranks" << where;
  say_who_is_missing(text);
}

// Nodes with a rank that is not loaded do not count at all.
void say_missing_nodes(std::uint64_t loaded, std::uint64_t of) noexcept {
  ShortText<96> text;
  text << "all ranks of some nodes alone, " << loaded << " of " << of << " ranks";
  say_who_is_missing(text);
}

// Only where some tune and others do not: a run that only records has nothing to say.
void say_modes_differ(std::uint64_t tuning, int world_size) noexcept {
  if (tuning == 0) return;
  ShortText<192> text;
  text << "IOTUNE_MODE differs (or the job's id, of which a site's share is drawn): " << tuning
       << " of " << world_size << " ranks may tune: nothing is tuned";
  say_on_any_rank(text.c_str());
}

// By the first rank of the node that asks.
void answer(NodeRecord& node, std::uint64_t size) noexcept {
  node.size = size;
  node.counted = node.counts.loaded;
  node.nodes = 1;
  const std::uint64_t here = ranks_on_this_node();
  if (node.counts.loaded == size) {
    node.set({true, node.counts.tuning == size, node.counts.logging == size,
              node.counts.gathering == size});
    if (node.all_tune == 0) say_modes_differ(node.counts.tuning, static_cast<int>(size));
  } else if (node.published.loaded != 0) {
    const SaysWhereItWaits waiting(configuration().state_home);
    const RunAnswer run = ask_run(size, node.published);
    node.set(run.all);
    node.nodes = static_cast<std::uint64_t>(run.nodes);
    if (!run.first) return;
    if (!run.all.loaded && here != 0 && run.counts.loaded < size) {
      say_missing_nodes(run.counts.loaded, size);
    } else if (!run.all.loaded) {
      say_missing(run.counts.loaded, size, "");
    } else if (!run.all.tune) {
      say_modes_differ(run.counts.tuning, static_cast<int>(size));
    }
  } else if (launcher_says_one_node() || !has_run_folder()) {
    say_missing(node.counts.loaded, size, "");
  } else if (place_answers(configuration().state_home) && refuse_run()) {
    say_missing(node.counts.loaded, here == 0 ? size : here, here == 0 ? "" : " of a node");
  }
}

}  // namespace

bool settle_presence(int world_size) noexcept {
  g_own.world_ranks = world_size;
  g_own.all = {};
  // A rank that others have counted must hear what they hear, and MPI_Init makes system calls
  // anyway.
  if (has_dropped_privileges() && !g_own.registered) return false;
  if (world_size <= 0) return false;
  const auto size = static_cast<std::uint64_t>(world_size);
  LockedRecord file(false);
  if (!file.held()) return false;
  NodeRecord& node = file.record;
  if (node.size == 0) {
    answer(node, size);
    // An answer from the run's folder is found there again.
    if (!file.store() && (node.published.loaded == 0 || node.counts.loaded == size)) {
      file.remove();
      node.set({});
      say_on_any_rank(kNoRoom);
    }
  }
  g_own.node = node;
  const bool counts = g_own.registered && node.size == size && g_own.ordinal <= node.counted;
  if (counts && node.all_loaded != 0) g_own.all = node.all();
  return g_own.all.loaded;
}

bool all_ranks_tune() noexcept {
  return g_own.all.tune;
}

bool all_ranks_run(JointService service) noexcept {
  return service == JointService::kLogs ? g_own.all.log : g_own.all.gather;
}

int world_ranks() noexcept {
  return g_own.world_ranks;
}

int run_nodes() noexcept {
  return g_own.node.nodes < 1 ? 1 : static_cast<int>(g_own.node.nodes);
}

bool all_ranks_loaded() noexcept {
  return g_own.all.loaded;
}

void remove_presence_files() noexcept {
  if (g_own.ordinal != 1 || has_dropped_privileges()) return;
  // The record last: a rank that comes before that is counted behind this world, one that comes
  // after it anew.
  const NodeRecord& node = g_own.node;
  if (node.published.loaded != 0) {
    leave_run_folder(node.published, node.size, node.all(), static_cast<int>(node.nodes));
  }
  Path path;
  if (node.size != 0 && node.all_loaded == 0 && local_path(path, kSaid)) raw::unlink(path.c_str());
  if (local_path(path, kPresence)) raw::unlink(path.c_str());
}

}  // namespace iotune
