#include "prefetch/preload/saved_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <cstring>

#include "core/os/directory_entries.h"
#include "core/os/oldest_entries.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/sleep_lock.h"
#include "core/process/process_events.h"

namespace iotune::prefetch {
namespace {

constexpr unsigned kSeldom = 16;
constexpr std::int64_t kOldDraftNs = 3600 * std::int64_t{1'000'000'000};

// Large texts are kept here and not on the stack: a read may be a small thread's.
constinit ShortText<4096> g_path;
constinit ShortText<4096> g_above;
alignas(8) constinit char g_entries[8192] = {};
constinit OldestEntries<64, 96> g_oldest;
constinit unsigned g_added = 0;
constinit SleepLock g_lock;  // of all but g_path

// A thread of the parent may have held it.
constinit AfterFork g_after_fork([]() noexcept { g_lock.unlock(); });

void make_folder() noexcept {
  const SleepGuard guard(g_lock);
  for (const char* at = g_path.c_str() + 1; *at != '\0'; ++at) {
    if (*at != '/') continue;
    g_above.clear();
    g_above.add(g_path.c_str(), static_cast<std::size_t>(at - g_path.c_str()));
    raw::mkdir(g_above.c_str(), 0700);
  }
  raw::mkdir(g_path.c_str(), 0700);
}

// Older versions named them by the process behind the file's name.
bool is_draft(const char* name) noexcept {
  if (starts_with(name, kDraftBegin)) return true;
  const char* const dot = std::strrchr(name, '.');
  return dot != nullptr && dot[1] != '\0' &&
         std::strspn(dot + 1, "0123456789") == std::strlen(dot + 1);
}

bool is_saved(const char* name) noexcept {
  return ends_with(name, ".recorded") || ends_with(name, ".markov") || ends_with(name, ".files");
}

// Whether there are more than `eighths` of what there may be.
bool is_beyond(std::uint64_t bytes, std::uint64_t files, std::uint64_t eighths) noexcept {
  return bytes > kMostFolderBytes / 8 * eighths || files > kMostFolderFiles / 8 * eighths;
}

// True where more has to go: so many at a time are known.
bool remove_oldest(int folder) noexcept {
  timespec now{};
  raw::call(SYS_clock_gettime, CLOCK_REALTIME, raw::word(&now));
  const std::int64_t now_ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  std::uint64_t bytes = 0, files = 0;
  g_oldest.clear();
  for_each_entry(folder, g_entries, [&](const char* name) noexcept {
    struct stat status {};
    if (!stat_of(folder, name, status) || !S_ISREG(status.st_mode) ||
        status.st_uid != static_cast<uid_t>(raw::getuid())) {
      return true;
    }
    if (is_draft(name)) {
      if (now_ns - changed_ns_of(status) > kOldDraftNs) {
        raw::call(SYS_unlinkat, folder, raw::word(name), 0);
      }
      return true;
    }
    if (!is_saved(name)) return true;
    bytes += static_cast<std::uint64_t>(status.st_size);
    ++files;
    g_oldest.add(name, status);
    return true;
  });
  if (!is_beyond(bytes, files, 8)) return false;
  for (const auto& old : g_oldest) {
    if (!is_beyond(bytes, files, 7)) break;
    // Another process may have been faster.
    raw::call(SYS_unlinkat, folder, raw::word(old.name), 0);
    bytes -= old.bytes;
    --files;
  }
  return is_beyond(bytes, files, 8);
}

}  // namespace

void set_up_saved_folder(const PrefetchHost& host) noexcept {
  host.enlist(g_after_fork);
  if (host.state_home != nullptr) g_path << host.state_home << "/iotune/prefetch";
  if (g_path.cut()) g_path.clear();
}

int open_saved_folder(bool make) noexcept {
  if (g_path.size() == 0) return -1;
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const int folder = raw::open(g_path.c_str(), kFlags, 0);
  if (folder >= 0 || !make) return folder;
  make_folder();
  return raw::open(g_path.c_str(), kFlags, 0);
}

void bound_saved_folder(int folder) noexcept {
  const SleepGuard guard(g_lock);
  if (g_added++ % kSeldom != 0) return;
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    raw::lseek(folder, 0, SEEK_SET);  // entries may have been read before
    if (!remove_oldest(folder)) return;
  }
}

void leave_saved_folder_by_jump() noexcept {
  release_by_jump(g_lock);
}

}  // namespace iotune::prefetch
