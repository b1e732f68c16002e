#include "prefetch/files/file_readers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/files/descriptor.h"
#include "core/os/directory_entries.h"
#include "core/os/futex.h"
#include "core/os/raw_syscall.h"
#include "core/os/signal_context.h"
#include "core/os/system_call_filter.h"
#include "core/process/process_events.h"
#include "prefetch/budget/storage_budget.h"
#include "prefetch/cache/written_files.h"
#include "prefetch/files/watched_files.h"
#include "prefetch/preload/helper_thread.h"

namespace iotune::prefetch {
namespace {

// Files under way at once: an open is a request that its thread waits for.
constexpr unsigned kMostReaders = 4;
// The kernel takes no more of a hint where nobody said otherwise.
constexpr std::int64_t kHintBytes = 128 << 10;
#if defined(SYS_close_range)
constexpr long kCloseRange = SYS_close_range;
#else
constexpr long kCloseRange = 436;
#endif
constexpr long kUnshare = 2;  // CLOSE_RANGE_UNSHARE
constexpr long kAllDescriptors = 0xffffffff;

constinit const PrefetchHost* g_host = nullptr;
constinit const Schedule* g_schedule = nullptr;
constinit std::atomic<bool> g_possible{false};
constinit std::atomic<std::uint32_t> g_events{0}, g_idle{0}, g_readers{0};
constinit std::atomic<bool> g_starting{false};
// Where a file may be written to, no readers are found; looked again after so often.
constexpr std::uint32_t kAsksBetween = 32;
constinit std::atomic<std::uint32_t> g_asks_to_skip{0};
constinit const std::atomic<bool> g_never{false};

bool is_file(const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) && status.st_size > 0;
}

// -1: there is none that could be read. Looked at before it is opened: a pipe would be disturbed.
int open_file(const char* path, struct stat& status) noexcept {
  const long at = raw::call(SYS_newfstatat, raw::kAtFdcwd, raw::word(path), raw::word(&status), 0);
  if (at != 0 || !is_file(status)) return -1;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  // Only an owner may say that its time of access stays.
  const bool is_own = status.st_uid == static_cast<uid_t>(raw::call(SYS_geteuid));
  return raw::open(path, kFlags | (is_own ? O_NOATIME : 0), 0);
}

// Asks the kernel for all of it and waits until that is there.
void read_ahead(int fd, std::int64_t bytes) noexcept {
  for (std::int64_t at = 0; at < bytes; at += kHintBytes) {
    raw::call(SYS_fadvise64, fd, at, std::min(kHintBytes, bytes - at), POSIX_FADV_WILLNEED);
  }
  char byte;
  raw::call(SYS_pread64, fd, raw::word(&byte), 1, bytes - 1);
}

void read_ahead(const FileAhead& file) noexcept {
  if (g_schedule->gives_way()) g_schedule->wait_for_turn(g_never);
  struct stat status {};
  const Descriptor fd(open_file(file.path, status));
  if (!fd) return;
  const auto bytes = std::min(static_cast<std::int64_t>(status.st_size),
                              static_cast<std::int64_t>(kMostFileBytes));
  set_file_bytes(file, static_cast<std::uint32_t>(bytes));
  unsigned storage = StorageBudget::kNone;
  if (g_schedule->has_budget && g_storage_budget.is_joined()) {
    storage = g_storage_budget.number_of(status.st_dev);
  }
  if (storage == StorageBudget::kNone) {
    read_ahead(fd.get(), bytes);
    return;
  }
  if (!g_storage_budget.wait_for_request(storage, g_never)) return;
  const std::uint64_t begin_ns = monotonic_ns();
  read_ahead(fd.get(), bytes);
  const std::uint64_t taken_ns = monotonic_ns() - begin_ns;
  // What took less was in memory.
  constexpr std::uint64_t kQuickNs = 50'000;
  if (taken_ns >= kQuickNs) g_storage_budget.learn(storage, bytes, taken_ns);
  g_storage_budget.end_request(storage);
}

// Whether a close of a copy of this descriptor would write out what is dirty of its file, and take
// the error that the program's own close is to get. Local disks write nothing at a close.
bool is_flushed_at_close(int fd) noexcept {
  const long flags = raw::call(SYS_fcntl, fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY) return false;
  FileStamp stamp;
  if (!stamp_of(fd, stamp)) return false;
  if (major(stamp.device) == 0) return true;  // network file systems, FUSE; also those in memory
  struct statfs storage {};
  constexpr long kFuse = 0x65735546;  // with a disk below it (fuseblk)
  return raw::call(SYS_fstatfs, fd, raw::word(&storage)) != 0 || storage.f_type == kFuse;
}

// True where that is not known.
bool any_is_flushed_at_close() noexcept {
  const Descriptor directory(moved_high(open_directory(raw::kAtFdcwd, "/proc/self/fd")));
  char room[1024];
  return !directory || !for_each_entry(directory.get(), room, [](const char* name) {
    return !is_flushed_at_close(std::atoi(name));
  });
}

void* run_reader(void*) noexcept {
  g_host->thread_is_ours();
  leave_single_core();
  // The kernel copies descriptors into the new table before it closes them there.
  if (any_is_flushed_at_close()) {
    g_readers.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (raw::call(kCloseRange, 0, kAllDescriptors, kUnshare) != 0) {
    g_possible.store(false, std::memory_order_relaxed);
    return nullptr;
  }
  for (;;) {
    const std::uint32_t events = g_events.load(std::memory_order_seq_cst);
    FileAhead file;
    if (next_file(file)) {
      read_ahead(file);
      continue;
    }
    g_idle.fetch_add(1, std::memory_order_seq_cst);
    sleep_while(g_events, events);
    g_idle.fetch_sub(1, std::memory_order_seq_cst);
  }
  return nullptr;
}

// One more where all are busy, or there is none.
void start_reader() noexcept {
  if (g_readers.load(std::memory_order_relaxed) == kMostReaders) return;
  if (const std::uint32_t left = g_asks_to_skip.load(std::memory_order_relaxed); left != 0) {
    g_asks_to_skip.store(left - 1, std::memory_order_relaxed);
    return;
  }
  if (may_be_in_signal_handler()) return;
  if (has_system_call_filter()) {  // it may end the process for close_range
    g_possible.store(false, std::memory_order_relaxed);
    return;
  }
  if (g_starting.exchange(true, std::memory_order_acquire)) return;
  if (any_is_flushed_at_close()) {
    g_asks_to_skip.store(kAsksBetween, std::memory_order_relaxed);
  } else if (g_readers.load(std::memory_order_relaxed) < kMostReaders) {
    g_readers.fetch_add(1, std::memory_order_relaxed);
    if (!start_quiet_thread(run_reader)) {
      g_readers.fetch_sub(1, std::memory_order_relaxed);
      g_possible.store(false, std::memory_order_relaxed);
    }
  }
  g_starting.store(false, std::memory_order_release);
}

// The child has no readers.
constinit AfterFork g_after_fork([]() noexcept {
  g_readers.store(0, std::memory_order_relaxed);
  g_idle.store(0, std::memory_order_relaxed);
  g_asks_to_skip.store(0, std::memory_order_relaxed);
  g_starting.store(false, std::memory_order_relaxed);
});

}  // namespace

void set_up_file_readers(const PrefetchHost& host, const Schedule& schedule) noexcept {
  g_host = &host;
  g_schedule = &schedule;
  host.enlist(g_after_fork);
  g_possible.store(true, std::memory_order_relaxed);
}

void ask_file_readers() noexcept {
  if (!g_possible.load(std::memory_order_relaxed)) return;
  g_events.fetch_add(1, std::memory_order_seq_cst);
  if (g_idle.load(std::memory_order_seq_cst) != 0) {
    wake_all(g_events);
  } else {
    start_reader();
  }
}

}  // namespace iotune::prefetch
