#include "core/run/answering_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "core/files/file_lock.h"
#include "core/os/fnv1a.h"
#include "core/os/mount_table.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/size_limit.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_facts.h"
#include "core/run/run_identity.h"

namespace iotune {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kLongestAnswerNs = kSecondNs;
constexpr std::uint64_t kBelievedNs = 10 * kSecondNs;
// Another run need not ask again so soon.
constexpr std::uint64_t kSilentNs = 60 * kSecondNs;

// What this process knows. Paths by their hashes: there are a handful of them.
constexpr unsigned kMostKnown = 16;
struct Known {
  std::uint64_t hashes[kMostKnown];
  unsigned used;

  bool has(std::uint64_t hash) const noexcept {
    const unsigned known = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < known && i < kMostKnown; ++i) {
      if (hashes[i] == hash) return true;
    }
    return false;
  }
  // Of two threads that add at once one may be lost, and asks again.
  void add(std::uint64_t hash) noexcept {
    const unsigned at = __atomic_load_n(&used, __ATOMIC_RELAXED);
    if (at >= kMostKnown || has(hash)) return;
    hashes[at] = hash;
    __atomic_store_n(&used, at + 1, __ATOMIC_RELEASE);
  }
};
constinit Known g_local = {}, g_silent = {};

class PrivateMount {
 public:
  PrivateMount() noexcept
      : mount_(static_cast<DistantMount*>(private_memory(sizeof(DistantMount)))) {}
  ~PrivateMount() {
    if (mount_ != nullptr) unmap(mount_, sizeof(DistantMount));
  }
  PrivateMount(const PrivateMount&) = delete;
  PrivateMount& operator=(const PrivateMount&) = delete;
  DistantMount* get() const noexcept { return mount_; }

 private:
  DistantMount* mount_;
};

// False: `path` is local. Without memory to look it up in, it is as good as silent.
bool find_mount(const char* path, DistantMount* mount) noexcept {
  if (mount == nullptr || leads_to_distant_mount(path, *mount)) return true;
  g_local.add(Fnv1a::of(path));
  return false;
}

// The folder in which a name is asked for: an automounter's own folder would answer without the
// server of what it mounts below.
void add_asked_folder(ShortText<1024>& folder, const DistantMount& mount) noexcept {
  folder << mount.folder.c_str();
  if (!mount.by_automounter) return;
  const char* const below = mount.below.c_str();
  std::size_t bytes = *below == '/' ? 1 : 0;
  while (below[bytes] != '\0' && below[bytes] != '/') ++bytes;
  folder.add(below, bytes);
}

void ask_name(int pipe, const void* argument) {
  struct stat status;
  constexpr long kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW
  // That there is no such name is an answer, and so is any other.
  raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(argument), raw::word(&status), kNoFollow);
  raw::write(pipe, "", 1);
}

__attribute__((noinline)) bool answers_now(const ShortText<1024>& folder) noexcept {
  ShortText<1024> name;
  // Nobody has it among what was looked up before, on no node.
  name << folder.c_str() << "/.iotune-" << host_name() << '-' << raw::getpid() << '-'
       << clock_ns(CLOCK_REALTIME);
  if (name.cut()) return false;
  LeftProcess process(ask_name, name.c_str());
  char answer = 0;
  const bool answered = process.read(&answer, 1, clock_ns(CLOCK_MONOTONIC) + kLongestAnswerNs) == 1;
  if (answered) process.wait_for_end();
  return answered;
}

// What this user's processes of this node know of a folder: a file beside the runs' directories.
struct NodeKnows {
  std::uint64_t run, boottime_ns, answered;
};

class NodeFile {
 public:
  explicit NodeFile(std::uint64_t folder) noexcept {
    const char* const root = private_buffer_root();
    if (root == nullptr) return;
    ShortText<640> path;
    path << root << "/place-";
    path.add_hex(folder);
    if (path.cut()) return;
    // Another process asks meanwhile, a second at most.
    constexpr int kTries = 150;
    constexpr timespec kPause{0, 10'000'000};
    file_.emplace(
        Descriptor(raw::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)),
        kTries, kPause);
  }

  NodeKnows knows() const noexcept {
    NodeKnows found{};
    const bool whole = file_ && raw::call(SYS_pread64, file_->fd(), raw::word(&found), sizeof found,
                                          0) == sizeof found;
    return whole ? found : NodeKnows{};
  }
  void store(const NodeKnows& now) noexcept {
    if (file_ && file_->held() && within_size_limit(sizeof now)) {
      raw::call(SYS_pwrite64, file_->fd(), raw::word(&now), sizeof now, 0);
    }
  }

 private:
  std::optional<FileLock> file_;
};

bool answers(const ShortText<1024>& folder) noexcept {
  NodeFile file(Fnv1a::of(folder.c_str()));
  const NodeKnows before = file.knows();
  const std::uint64_t run = Fnv1a::of(run_id());
  const std::uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
  const std::uint64_t age_ns = now_ns > before.boottime_ns ? now_ns - before.boottime_ns : 0;
  if (before.boottime_ns != 0) {
    if (before.answered != 0 && age_ns < kBelievedNs) return true;
    if (before.answered == 0 && (before.run == run || age_ns < kSilentNs)) return false;
  }
  const bool answered = answers_now(folder);
  file.store({run, clock_ns(CLOCK_BOOTTIME), answered ? 1u : 0u});
  return answered;
}

__attribute__((noinline)) void say_silent(const ShortText<1024>& folder) noexcept {
  static constinit bool said = false;
  ShortText<1024> text;
  text << folder.c_str()
       << " does not answer: this run asks nothing of it and leaves nothing there (`iotune show` "
          "joins its buffers later)";
  say_once(said, text.c_str());
}

}  // namespace

namespace {

// By itself, so that a local path takes no stack for it.
__attribute__((noinline)) bool mount_answers(const DistantMount& mount) noexcept {
  ShortText<1024> folder;
  add_asked_folder(folder, mount);
  const std::uint64_t hash = Fnv1a::of(folder.c_str());
  if (!g_silent.has(hash)) {
    if (!folder.cut() && answers(folder)) return true;
    g_silent.add(hash);
  }
  say_silent(folder);
  return false;
}

}  // namespace

bool place_answers(const char* path) noexcept {
  // A relative path is the program's own place.
  if (has_dropped_privileges() || path[0] != '/' || g_local.has(Fnv1a::of(path))) return true;
  const PrivateMount room;
  if (!find_mount(path, room.get())) return true;
  return room.get() != nullptr && mount_answers(*room.get());
}

bool is_distant(const char* path) noexcept {
  if (path[0] != '/' || g_local.has(Fnv1a::of(path))) return false;
  const PrivateMount room;
  return find_mount(path, room.get());
}

namespace {

// The whole line is there already.
void say_later(int, const void* argument) {
  const timespec wait{5, 0};
  raw::call(SYS_nanosleep, raw::word(&wait), 0);
  const auto* const line = static_cast<const char*>(argument);
  std::size_t bytes = 0;
  while (line[bytes] != '\0') ++bytes;
  raw::write(2, line, bytes);
}

const char* text_of_wait(ShortText<1200>& line, const char* path) noexcept {
  line << "iotune: waits for " << path << ", which takes long to answer\n";
  return line.c_str();
}

}  // namespace

SaysWhereItWaits::SaysWhereItWaits(const char* path) noexcept
    : process_(is_distant(path) && may_say() ? say_later : nullptr, text_of_wait(line_, path), 2) {}

}  // namespace iotune
