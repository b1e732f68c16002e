#include "recorder/preload/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "recorder/preload/configuration.h"
#include "recorder/preload/directory_entries.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/short_text.h"
#include "recorder/preload/ticks.h"

namespace iotune::recorder {
namespace {

// So many at a time: the list of all is read once in as many runs.
constexpr unsigned kAtOnce = 64;
constexpr int kMostTimes = 8;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kYoungNs = 60 * kSecondNs;
// Ranks that have recorded nothing yet show by the files of presence.h alone, which do not tell of
// whom they are.
constexpr std::int64_t kPresentNs = 86'400 * kSecondNs;

struct OldRun {
  std::int64_t changed_ns;  // since the epoch
  char name[128];           // of a run id, which is no longer
};

// No stack of ours: the first traced call may happen on a signal's.
constinit OldRun g_oldest[kAtOnce] = {};
alignas(8) constinit char g_entries[4096] = {};

bool stat_of(int directory, const char* name, struct stat& status) noexcept {
  return raw::call(SYS_newfstatat, directory, raw::word(name), raw::word(&status),
                   *name == '\0' ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW) == 0;
}

// From the first entry on.
template <typename Each>
bool for_each_of(int directory, Each&& each) noexcept {
  raw::lseek(directory, 0, SEEK_SET);
  return for_each_entry(directory, g_entries, each);
}

bool ends_with(const char* text, const char* ending) noexcept {
  const std::size_t bytes = std::strlen(text), last = std::strlen(ending);
  return bytes > last && std::strcmp(text + bytes - last, ending) == 0;
}

// HOST.PID.START.RANDOM.iobuf, as BufferFile::create names it; of another host nobody here knows.
bool writer_has_ended(const char* name) noexcept {
  const char* const host = host_name();
  const std::size_t host_bytes = std::strlen(host);
  if (std::strncmp(name, host, host_bytes) != 0 || name[host_bytes] != '.') return false;
  const char* const pid_text = name + host_bytes + 1;
  const char* const start_text = std::strchr(pid_text, '.');
  if (start_text == nullptr) return false;
  const auto pid = static_cast<long>(parse_decimal(pid_text));
  if (pid <= 0) return false;
  if (raw::call(SYS_kill, pid, 0) == -ESRCH) return true;
  const std::uint64_t started = process_start_time(pid);
  return started != 0 && started != parse_decimal(start_text + 1);
}

struct Contents {
  unsigned buffers = 0;
  bool has_presence = false;
};

// False where it is in use or a file of the user's.
bool look_at_file(const char* name, Contents& contents) noexcept {
  if (ends_with(name, ".iobuf")) {
    ++contents.buffers;
    return writer_has_ended(name);
  }
  if (ends_with(name, ".iospill")) return true;
  contents.has_presence = true;
  return starts_with(name, "presence-") || starts_with(name, "all-");
}

void remove_file(int directory, const char* name) noexcept {
  if (ends_with(name, ".iospill")) {
    // A link to the blocks that left the buffer's memory; of another name they are not its.
    static constinit char target[4096] = {};
    const long bytes =
        raw::call(SYS_readlinkat, directory, raw::word(name), raw::word(target), sizeof target - 1);
    if (bytes > 0) {
      target[bytes] = '\0';
      const char* const slash = std::strrchr(target, '/');
      if (slash != nullptr && std::strcmp(slash + 1, name) == 0) raw::unlink(target);
    }
  }
  raw::call(SYS_unlinkat, directory, raw::word(name), 0);
}

// True where the run has ended and nothing of it is left.
bool remove_run(int root, const OldRun& run, std::int64_t now_ns) noexcept {
  const int directory = open_directory(root, run.name);
  if (directory < 0) return false;
  Contents contents;
  // Who joins it holds this lock.
  bool removed =
      raw::call(SYS_flock, directory, LOCK_EX | LOCK_NB) == 0 &&
      for_each_of(directory,
                  [&](const char* name) noexcept { return look_at_file(name, contents); }) &&
      (contents.has_presence ? now_ns - run.changed_ns > kPresentNs : contents.buffers > 0);
  if (removed) {
    for_each_of(directory, [&](const char* name) noexcept {
      remove_file(directory, name);
      return true;
    });
    removed = raw::call(SYS_unlinkat, root, raw::word(run.name), AT_REMOVEDIR) == 0;
  }
  raw::close(directory);
  return removed;
}

// The oldest directories that were changed within (after_ns, before_ns].
struct Search {
  int root;
  std::int64_t after_ns, before_ns;
  unsigned found = 0;  // in g_oldest, from the oldest on
};

void keep_if_old(const char* name, Search& search) noexcept {
  struct stat status {};
  if (std::strlen(name) >= sizeof g_oldest[0].name || !stat_of(search.root, name, status) ||
      !S_ISDIR(status.st_mode) || static_cast<long>(status.st_uid) != raw::getuid()) {
    return;
  }
  const std::int64_t changed_ns = status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec;
  if (changed_ns <= search.after_ns || changed_ns > search.before_ns) return;
  unsigned at = search.found;
  while (at > 0 && g_oldest[at - 1].changed_ns > changed_ns) --at;
  if (at == kAtOnce) return;
  if (search.found < kAtOnce) ++search.found;
  std::memmove(g_oldest + at + 1, g_oldest + at, (search.found - at - 1) * sizeof(OldRun));
  g_oldest[at].changed_ns = changed_ns;
  std::memcpy(g_oldest[at].name, name, std::strlen(name) + 1);
}

}  // namespace

void bound_leftovers(const char* root) noexcept {
  const int directory = open_directory(raw::kAtFdcwd, root);
  if (directory < 0) return;
  struct stat status {};
  // Its own name, its own "." and the ".." of each directory in it.
  if (stat_of(directory, "", status) && status.st_nlink > kMostRunsLeft + 2) {
    const auto now_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
    unsigned removed = 0;
    std::int64_t after_ns = -1;
    // Where none of the oldest may be removed, those behind them.
    for (int times = 0; times < kMostTimes && removed == 0; ++times) {
      Search search{directory, after_ns, now_ns - kYoungNs};
      for_each_of(directory, [&](const char* name) noexcept {
        keep_if_old(name, search);
        return true;
      });
      for (unsigned i = 0; i < search.found; ++i) {
        if (remove_run(directory, g_oldest[i], now_ns)) ++removed;
      }
      if (search.found < kAtOnce) break;
      after_ns = g_oldest[kAtOnce - 1].changed_ns;
    }
    if (removed > 0) {
      ShortText<768> text;
      text << "more than " << kMostRunsLeft << " runs had left their calls in " << root << ": the "
           << removed << " oldest are removed (iotune show would have made traces of them)";
      say(text.c_str());
    }
  }
  raw::close(directory);
}

}  // namespace iotune::recorder
