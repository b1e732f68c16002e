#include "core/run/run_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/make_folders.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/process_facts.h"
#include "core/run/protocol_version.h"
#include "core/run/run_identity.h"

namespace iotune {
namespace {

using Path = ShortText<768>;

// node.HOST.LOADED.TUNING.LOGGING, or node.HOST, a link to "LOADED.TUNING.LOGGING". One listing
// reads the first kind.
constexpr char kNode[] = "node-" IOTUNE_PROTOCOL_VERSION ".";

// The folder begins with this file. "Yes" gives it another name, "no" removes it: of two answers
// the later one finds it gone, so that the first one holds for all. To remove a file takes no
// space: a node whose disk or quota is full can always say no, and nobody waits for one that could
// not make itself heard.
constexpr char kOpen[] = "open-" IOTUNE_PROTOCOL_VERSION;
// yes.SIZE.TUNE.LOG.GATHER.NODES: a run id may serve more than one world (a requeued job, several
// launches in one step), so that a "yes" is about a world of its size. TUNE, LOG and GATHER are 1
// where all ranks do.
constexpr char kYes[] = "yes-" IOTUNE_PROTOCOL_VERSION ".";

bool run_folder(Path& path, const char* name) noexcept {
  path.clear();
  path << configuration().state_home << "/iotune/runs/" << run_id();
  if (name != nullptr) path << '/' << name;
  return has_run_folder() && !path.cut();
}

template <std::size_t N>
void add_counts(ShortText<N>& text, const RankCounts& counts) noexcept {
  text << counts.loaded << '.' << counts.tuning << '.' << counts.logging << '.' << counts.gathering;
}

void add_counted_name(Path& path, const RankCounts& counts) noexcept {
  path << '/' << kNode << host_name() << '.';
  add_counts(path, counts);
}

// The number that `at` begins with; `at` then stands behind the next '.', or is nullptr.
std::uint64_t next_number(const char*& at) noexcept {
  if (at == nullptr) return 0;
  const std::uint64_t number = parse_decimal(at);
  at = std::strchr(at, '.');
  if (at != nullptr) ++at;
  return number;
}

RankCounts read_counts(const char* at) noexcept {
  RankCounts counts{};
  counts.loaded = next_number(at);
  counts.tuning = next_number(at);
  counts.logging = next_number(at);
  counts.gathering = next_number(at);
  return counts;
}

// By the node that has made the folder. Its own name follows, so that nodes that see all names find
// the file, or what an answer has made of it.
void make_run_folder() noexcept {
  Path folder, open;
  if (!run_folder(folder, nullptr) || !run_folder(open, kOpen)) return;
  if (make_folders(folder) != 0) return;
  const int fd =
      raw::open(open.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) raw::close(fd);
}

RankCounts read_link(const char* path) noexcept {
  char content[96];
  const long bytes = raw::readlink(path, content, sizeof content - 1);
  if (bytes <= 0) return {};
  content[bytes] = '\0';
  return read_counts(content);
}

struct Listing {
  RankCounts sum;
  int nodes;
  bool open, yes;
  AllRanks yes_all;
  std::uint64_t yes_size;
  int yes_nodes;
};

void add_node(const char* name, const char* counts, Listing& found) noexcept {
  const char* const dot = std::strchr(counts, '.');
  RankCounts node{};
  if (dot != nullptr && std::strchr(dot + 1, '.') != nullptr) {
    node = read_counts(dot + 1);
  } else if (Path link; dot == nullptr && run_folder(link, name)) {
    node = read_link(link.c_str());
  } else {
    return;  // HOST.PID: a link that is not whole yet
  }
  found.sum.loaded += node.loaded;
  found.sum.tuning += node.tuning;
  found.sum.logging += node.logging;
  found.sum.gathering += node.gathering;
  ++found.nodes;
}

// Opened anew each time: what NFS has kept of a folder's names is asked for again then.
Listing list_run() noexcept {
  Listing found{};
  Path path;
  if (!run_folder(path, nullptr)) return found;
  const int fd = raw::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return found;
  alignas(8) char entries[16384];
  for_each_entry(fd, entries, [&](const char* name) noexcept {
    if (std::strcmp(name, kOpen) == 0) {
      found.open = true;
    } else if (starts_with(name, kNode)) {
      add_node(name, name + sizeof kNode - 1, found);
    } else if (starts_with(name, kYes)) {
      const char* at = name + sizeof kYes - 1;
      found.yes = true;
      found.yes_size = next_number(at);
      found.yes_all = {true, next_number(at) == 1, next_number(at) == 1, next_number(at) == 1};
      found.yes_nodes = static_cast<int>(next_number(at));
    }
    return true;
  });
  raw::close(fd);
  return found;
}

bool yes_path(Path& path, std::uint64_t size, const AllRanks& all, int nodes) noexcept {
  if (!run_folder(path, nullptr)) return false;
  path << '/' << kYes << size << '.' << (all.tune ? 1 : 0) << '.' << (all.log ? 1 : 0) << '.'
       << (all.gather ? 1 : 0) << '.' << nodes;
  return !path.cut();
}

bool say_yes(std::uint64_t size, const AllRanks& all, int nodes) noexcept {
  Path open, yes;
  return run_folder(open, kOpen) && yes_path(yes, size, all, nodes) &&
         raw::rename(open.c_str(), yes.c_str()) == 0;
}

bool say_no() noexcept {
  Path open;
  return run_folder(open, kOpen) && raw::unlink(open.c_str()) == 0;
}

void remove_own_names(const RankCounts& own) noexcept {
  Path path;
  if (run_folder(path, nullptr)) {
    add_counted_name(path, own);
    if (raw::unlink(path.c_str()) != -ENOENT) return;
  }
  if (run_folder(path, nullptr)) {
    path << '/' << kNode << host_name();
    raw::unlink(path.c_str());
  }
}

}  // namespace

bool has_run_folder() noexcept {
  return run_id_is_global() && configuration().state_home != nullptr;
}

bool publish_node(const RankCounts& counts) noexcept {
  Path link;
  if (!run_folder(link, nullptr)) return false;
  add_counted_name(link, counts);
  if (link.cut()) return false;
  make_run_folder();
  const long made = raw::symlink("-", link.c_str());
  return made == 0 || made == -EEXIST;  // left by a death, or a server repeats its answer
}

bool publish_node_so_far(const RankCounts& counts) noexcept {
  Path link, fresh;
  if (!run_folder(link, nullptr)) return false;
  link << '/' << kNode << host_name();
  fresh << link.c_str() << '.' << raw::getpid();
  if (link.cut() || fresh.cut()) return false;
  ShortText<96> content;
  add_counts(content, counts);
  long made = raw::symlink(content.c_str(), fresh.c_str());
  if (made != 0) {
    make_run_folder();
    raw::unlink(fresh.c_str());
    made = raw::symlink(content.c_str(), fresh.c_str());
  }
  return made == 0 && raw::rename(fresh.c_str(), link.c_str()) == 0;
}

RunAnswer ask_run(std::uint64_t world_size, const RankCounts& own) noexcept {
  RunAnswer answer{};
  for (int look = 0; look < 3; ++look) {
    const Listing found = list_run();
    if (look == 0) answer.counts = found.sum;
    answer.nodes = found.nodes < 1 ? 1 : found.nodes;
    if (found.yes) {
      if (found.yes_size == world_size) answer.all = found.yes_all;
      if (found.yes_nodes > 0) answer.nodes = found.yes_nodes;
      break;
    }
    if (found.open) {
      const AllRanks all = {look == 0 && found.sum.loaded == world_size,
                            found.sum.tuning == world_size, found.sum.logging == world_size,
                            found.sum.gathering == world_size};
      if (all.loaded && say_yes(world_size, all, answer.nodes)) {
        answer.all = all;
        answer.first = true;
        break;
      }
      answer.first = say_no();
      if (answer.first) break;
    } else if (look == 0) {
      // Answered, or not made yet. From here on no listing has all nodes, so that a "yes" would be
      // of before: the next look meets it, or the file that it needs.
      remove_own_names(own);
    } else {
      break;
    }
  }
  return answer;
}

bool refuse_run() noexcept {
  Path folder;
  if (!run_folder(folder, nullptr)) return false;
  return say_no() || make_folders(folder) == 0;
}

void leave_run_folder(const RankCounts& own, std::uint64_t world_size, const AllRanks& all,
                      int nodes) noexcept {
  constexpr long kRemoveDirectory = 0x200;  // AT_REMOVEDIR
  remove_own_names(own);
  Path path;
  if (yes_path(path, world_size, all, nodes) && raw::unlink(path.c_str()) == -ENOENT) {
    say_no();  // the answer was found on the node
  }
  if (run_folder(path, nullptr)) {
    raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(path.c_str()), kRemoveDirectory);
  }
}

}  // namespace iotune
