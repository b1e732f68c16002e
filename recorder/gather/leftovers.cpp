#include "recorder/gather/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/files/file_lock.h"
#include "core/os/directory_entries.h"
#include "core/os/oldest_entries.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/ticks.h"
#include "core/process/configuration.h"
#include "core/process/process_facts.h"
#include "core/process/process_namespace.h"
#include "core/run/presence.h"
#include "core/run/run_identity.h"
#include "recorder/ring/buffer_file.h"

namespace iotune::recorder {
namespace {

// So many at a time: the list of all is read once in as many runs.
constexpr unsigned kAtOnce = 64;
constexpr int kMostTimes = 8;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kYoungNs = 60 * kSecondNs;
// Who lost a run of some length is given the time to look at it.
constexpr std::int64_t kJustEndedNs = 600 * kSecondNs;
// Ranks that have recorded nothing yet show by the file of presence.h alone, which does not tell of
// whom they are; nor does a name that `iotune run` gave, whose next program may not have begun.
constexpr std::int64_t kUnknownNs = 86'400 * kSecondNs;

// Of run ids, which are no longer.
using OldRuns = OldestEntries<kAtOnce, 128>;

constinit OldRuns g_oldest;
alignas(8) constinit char g_entries[4096] = {};

// From the first entry on.
template <typename Each>
bool for_each_of(int directory, Each&& each) noexcept {
  raw::lseek(directory, 0, SEEK_SET);
  return for_each_entry(directory, g_entries, each);
}

bool is_decimal(const char* text) noexcept {
  return *text != '\0' && text[std::strspn(text, "0123456789")] == '\0';
}

// What follows `start`; nullptr where `text` begins otherwise.
const char* behind(const char* text, const char* start) noexcept {
  return starts_with(text, start) ? text + std::strlen(start) : nullptr;
}

// `start_ticks`: of the process that is meant; 0: any process that has the number.
bool has_ended(long pid, std::uint64_t start_ticks) noexcept {
  if (pid <= 0) return false;
  if (raw::call(SYS_kill, pid, 0) == -ESRCH) return true;
  const std::uint64_t started = process_start_time(pid);
  return started != 0 && start_ticks != 0 && started != start_ticks;
}

// PID-START, with which some names of runs end.
bool has_ended(const char* pid_text) noexcept {
  const char* const dash = std::strchr(pid_text, '-');
  return dash != nullptr &&
         has_ended(static_cast<long>(parse_decimal(pid_text)), parse_decimal(dash + 1));
}

// Whether who named the run (run_identity.cpp) may begin more programs of it.
bool may_go_on(const char* run, std::int64_t age_ns) noexcept {
  if (const char* const process = behind(run, "pid-")) return !has_ended(process);
  if (const char* const proxy = behind(run, "proxy-")) return !has_ended(proxy);
  if (const char* const launched = behind(run, "mpi-")) {
    // Of another node's launcher a process of that number here says nothing, and keeps it.
    const char* const dash = std::strchr(launched, '-');
    return dash == nullptr || !has_ended(static_cast<long>(parse_decimal(dash + 1)), 0);
  }
  const bool by_iotune_run =
      std::strlen(run) == 16 && run[std::strspn(run, "0123456789abcdef")] == '\0';
  return by_iotune_run && age_ns <= kUnknownNs;
}

// Made by an MPI program before anything was recorded there.
bool is_ours_though_empty(const char* run) noexcept {
  return starts_with(run, "pid-") || starts_with(run, "proxy-") || starts_with(run, "mpi-") ||
         starts_with(run, "slurm-");
}

// The file of presence.cpp in the run's directory, by its name.
bool is_presence(const char* name) noexcept {
  const char* const form = behind(name, "presence-");
  return form != nullptr && is_decimal(form);
}

// HOST.PID.START.RANDOM.iobuf, as BufferFile::create names it; of another host nobody here knows.
bool writer_has_ended(int directory, const char* name, std::int64_t now_ns) noexcept {
  const char* const host = host_name();
  const std::size_t host_bytes = std::strlen(host);
  if (std::strncmp(name, host, host_bytes) != 0 || name[host_bytes] != '.') return false;
  const char* const pid_text = name + host_bytes + 1;
  const char* const start_text = std::strchr(pid_text, '.');
  if (start_text == nullptr) return false;
  if (!has_ended(static_cast<long>(parse_decimal(pid_text)), parse_decimal(start_text + 1))) {
    return false;
  }
  const int fd = static_cast<int>(
      raw::call(SYS_openat, directory, raw::word(name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd < 0) return false;
  alignas(8) char head[offsetof(BufferHeader, segment)] = {};
  const long bytes = raw::read(fd, head, sizeof head);
  raw::close(fd);
  const auto word_at = [&](std::size_t offset) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, head + offset, sizeof word);
    return word;
  };
  const std::uint64_t space = process_namespace();
  // What was torn while it was made says nothing.
  if (bytes == sizeof head && std::memcmp(head, "IOTBUF", 6) == 0) {
    if (space == 0 || word_at(offsetof(BufferHeader, process_namespace)) != space) return false;
    const auto time_at = [&](std::size_t offset) noexcept {
      return static_cast<std::int64_t>(word_at(offset));
    };
    const std::int64_t last_ns = time_at(offsetof(BufferHeader, last_realtime_ns));
    const bool took_long = last_ns - time_at(offsetof(BufferHeader, first_realtime_ns)) > kYoungNs;
    return !took_long || now_ns - last_ns > kJustEndedNs;
  }
  return true;
}

struct Contents {
  unsigned buffers = 0;
  bool has_presence = false;
};

// A run's directory, open and locked.
struct Run {
  int directory;
  const char* name;
  std::int64_t now_ns, changed_ns;
};

// False where it is in use or no file of a run's.
bool may_go(const Run& run, const char* name, Contents& contents) noexcept {
  struct stat status {};
  if (!stat_of(run.directory, name, status)) return false;
  if (ends_with(name, ".iospill")) return true;
  if (!S_ISREG(status.st_mode)) return false;
  if (ends_with(name, ".iobuf")) {
    ++contents.buffers;
    return writer_has_ended(run.directory, name, run.now_ns);
  }
  contents.has_presence = true;
  return is_presence(name) && status.st_size <= kPresenceBytes;
}

bool may_be_removed(const Run& run) noexcept {
  const std::int64_t age_ns = run.now_ns - run.changed_ns;
  if (age_ns <= kYoungNs || may_go_on(run.name, age_ns)) return false;
  Contents contents;
  if (!for_each_of(run.directory,
                   [&](const char* name) noexcept { return may_go(run, name, contents); })) {
    return false;
  }
  if (contents.has_presence) return age_ns > kUnknownNs;
  return contents.buffers > 0 || is_ours_though_empty(run.name);
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
bool remove_run(int root, const OldRuns::Entry& old, std::int64_t now_ns) noexcept {
  const int directory = open_directory(root, old.name);
  if (directory < 0) return false;
  Run run{directory, old.name, now_ns, old.changed_ns};
  bool removed = false;
  // Looked at before it is locked: who joins a run that is to stay does not wait for the lock.
  if (may_be_removed(run) && lock_file(directory, LOCK_EX | LOCK_NB) == 0) {
    struct stat status {};
    if (stat_of(directory, "", status)) {
      run.changed_ns = changed_ns_of(status);
      removed = may_be_removed(run);
    }
    // Who came meanwhile stays, with what is then left.
    Contents contents;
    removed = removed && for_each_of(directory, [&](const char* name) noexcept {
                if (!may_go(run, name, contents)) return false;
                remove_file(directory, name);
                return true;
              });
    removed = removed && raw::call(SYS_unlinkat, root, raw::word(old.name), AT_REMOVEDIR) == 0;
    lock_file(directory, LOCK_UN);
  }
  raw::close(directory);
  return removed;
}

// The oldest directories that were changed within (after_ns, before_ns].
void find_oldest(int root, std::int64_t after_ns, std::int64_t before_ns) noexcept {
  g_oldest.clear();
  for_each_of(root, [&](const char* name) noexcept {
    struct stat status {};
    if (stat_of(root, name, status) && S_ISDIR(status.st_mode) &&
        static_cast<long>(status.st_uid) == raw::getuid()) {
      const std::int64_t changed_ns = changed_ns_of(status);
      if (changed_ns > after_ns && changed_ns <= before_ns) g_oldest.add(name, status);
    }
    return true;
  });
}

// `directories` of the root, of which some may not be removed: beyond the limit of the others.
unsigned remove_oldest(int root, std::uint64_t directories) noexcept {
  const auto now_ns = static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME));
  unsigned removed = 0;
  std::uint64_t staying = 0;
  std::int64_t after_ns = -1;
  // Where none of the oldest may be removed, those behind them.
  for (int times = 0; times < kMostTimes && removed == 0; ++times) {
    find_oldest(root, after_ns, now_ns - kYoungNs);
    for (const OldRuns::Entry& old : g_oldest) {
      if (removed == 0 && directories - staying <= kMostRunsLeft) return 0;
      after_ns = old.changed_ns;
      if (remove_run(root, old, now_ns)) {
        ++removed;
      } else {
        ++staying;
      }
    }
    if (!g_oldest.full()) break;
  }
  return removed;
}

}  // namespace

void bound_leftovers(const char* root) noexcept {
  const int directory = open_directory(raw::kAtFdcwd, root);
  if (directory < 0) return;
  struct stat status {};
  // Its own name, its own "." and the ".." of each directory in it.
  const auto is_beyond = [&]() noexcept {
    return stat_of(directory, "", status) && status.st_nlink > kMostRunsLeft + 2;
  };
  // Of many that begin at once, one is enough.
  if (is_beyond() && lock_file(directory, LOCK_EX | LOCK_NB) == 0) {
    const unsigned removed = is_beyond() ? remove_oldest(directory, status.st_nlink - 2) : 0;
    lock_file(directory, LOCK_UN);
    if (removed > 0) {
      ShortText<768> text;
      text << "more than " << kMostRunsLeft << " runs had left their calls in " << root << ": the "
           << removed << " oldest are removed (iotune show would have made traces of them)";
      say_on_any_rank(text.c_str());
    }
  }
  raw::close(directory);
}

}  // namespace iotune::recorder
