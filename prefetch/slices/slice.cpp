#include "prefetch/slices/slice.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>

#include "core/os/futex.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/signal_context.h"
#include "core/os/sleep_lock.h"
#include "core/process/process_events.h"
#include "prefetch/preload/helper_thread.h"
#include "prefetch/slices/pending_writes.h"
#include "prefetch/slices/slice_calls.h"

namespace iotune::prefetch {

constinit std::atomic<bool> g_slice_runs{false};

namespace {

using patterns::Extent;

// As the helper's (helper_thread.cpp).
constexpr std::int64_t kHintBytes = 128 << 10;
// Read ahead and not yet read by the program: the page cache is everyone's.
constexpr std::int64_t kMostAheadBytes = 64 << 20;
constexpr unsigned kMostPositions = 64;

// Where the slice is in a descriptor of the program's.
struct Position {
  int fd;
  std::uint32_t file;  // 0: the entry is free
  std::int64_t offset;
};

// What one slice has; made with the first. The schedule's block lies behind it.
struct Slice {
  void (*run)(void*);
  void* argument;
  Position positions[kMostPositions];
  unsigned next_position;
  PendingWrites pending;

  std::byte* block() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

constinit const PrefetchHost* g_host = nullptr;
constinit const Schedule* g_schedule = nullptr;
constinit Slice* g_slice = nullptr;
constinit SleepLock g_lock;  // of g_slice->pending
constinit std::atomic<std::int64_t> g_ahead_bytes{0};
constexpr std::uint32_t kNoDescriptor = 0xffffffff;
constinit std::atomic<std::uint32_t> g_in_use{kNoDescriptor};  // descriptor of the call under way
constinit std::atomic<std::uint32_t> g_waiting_closes{0};      // for the end of that call
constinit std::atomic<std::uint32_t> g_closes{0};              // of any descriptor: ends a wait
constinit std::atomic<std::uint32_t> g_events{0};              // what the slice may wait for
constinit const std::atomic<bool> g_never{false};

bool ask_about(int fd, struct stat& status) noexcept {
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  return raw::call(SYS_newfstatat, fd, raw::word(""), raw::word(&status), kEmptyPath) == 0 &&
         S_ISREG(status.st_mode);
}

FileIdentity identity_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino};
}

// nullptr where the descriptor has no position.
Position* position_of(int fd, std::uint32_t file) noexcept {
  for (Position& known : g_slice->positions) {
    if (known.file == file && known.fd == fd) return &known;
  }
  const long at = raw::lseek(fd, 0, SEEK_CUR);
  if (at < 0) return nullptr;
  Position& fresh = g_slice->positions[g_slice->next_position];
  g_slice->next_position = (g_slice->next_position + 1) % kMostPositions;
  fresh = {fd, file, at};
  return &fresh;
}

template <typename Condition>
void wait_while(Condition condition) noexcept {
  const std::uint32_t closes = g_closes.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t events = g_events.load(std::memory_order_acquire);
    if (!condition() || g_closes.load(std::memory_order_acquire) != closes) return;
    sleep_while(g_events, events);
  }
}

void wait_for_pending(const FileIdentity& file, const Extent& extent) noexcept {
  wait_while([&] {
    const SleepGuard guard(g_lock);
    return g_slice->pending.overlap(file, extent);
  });
}

void request(int fd, const Extent& extent) noexcept {
  const bool reads = g_schedule->reads_itself();
  const std::int64_t end = extent.offset + extent.length;
  for (std::int64_t at = extent.offset; at < end;) {
    const std::int64_t piece = std::min(kHintBytes, end - at);
    if (g_schedule->gives_way()) g_schedule->wait_for_turn(g_never);
    g_in_use.store(static_cast<std::uint32_t>(fd), std::memory_order_seq_cst);
    const long bytes = reads ? g_schedule->read_block(fd, g_slice->block(), {at, end - at})
                             : raw::call(SYS_fadvise64, fd, at, piece, POSIX_FADV_WILLNEED);
    g_in_use.store(kNoDescriptor, std::memory_order_seq_cst);
    if (g_waiting_closes.load(std::memory_order_seq_cst) != 0) wake_all(g_in_use);
    if (reads ? bytes <= 0 : bytes < 0) return;
    at += reads ? bytes : piece;
  }
}

std::int64_t read_ahead(int fd, const struct stat& status, Extent extent) noexcept {
  extent.length = std::min<std::int64_t>(extent.length, status.st_size - extent.offset);
  if (extent.length <= 0) return 0;
  wait_for_pending(identity_of(status), extent);
  wait_while([] { return g_ahead_bytes.load(std::memory_order_acquire) >= kMostAheadBytes; });
  request(fd, extent);
  g_ahead_bytes.fetch_add(extent.length, std::memory_order_relaxed);
  return extent.length;
}

void* run_slice(void*) noexcept {
  leave_single_core();
  g_host->thread_is_ours();
  enter_slice();
  g_slice->run(g_slice->argument);
  leave_slice();
  g_slice_runs.store(false, std::memory_order_release);
  return nullptr;
}

constinit AfterFork g_after_fork([]() noexcept {
  leave_slice();
  g_lock.unlock();
  g_slice_runs.store(false, std::memory_order_relaxed);
  g_in_use.store(kNoDescriptor, std::memory_order_relaxed);
  g_waiting_closes.store(0, std::memory_order_relaxed);
});

}  // namespace

void set_up_slices(const PrefetchHost& host, const Schedule& schedule) noexcept {
  g_host = &host;
  g_schedule = &schedule;
  host.enlist(g_after_fork);
}

int start_slice(void (*slice)(void*), void* argument) noexcept {
  if (may_be_in_signal_handler()) return EAGAIN;
  if (g_slice_runs.exchange(true, std::memory_order_acq_rel)) return EBUSY;
  void* const memory =
      g_slice != nullptr ? g_slice : private_memory(sizeof(Slice) + g_schedule->block_bytes);
  if (memory == nullptr) {
    g_slice_runs.store(false, std::memory_order_release);
    return EAGAIN;
  }
  {
    const SleepGuard guard(g_lock);
    g_slice = static_cast<Slice*>(memory);
    g_slice->run = slice;
    g_slice->argument = argument;
    for (Position& position : g_slice->positions) position = {};
    g_slice->next_position = 0;
    g_slice->pending.clear();
  }
  g_ahead_bytes.store(0, std::memory_order_relaxed);
  watch_slice_calls(*g_host);
  if (start_quiet_thread(run_slice, ThreadStack::kOfProgram)) return 0;
  g_slice_runs.store(false, std::memory_order_release);
  return EAGAIN;
}

std::int64_t make_slice_transfer(const SliceTransfer& transfer) noexcept {
  struct stat status {};
  Position* const position =
      transfer.offset < 0 ? position_of(transfer.fd, transfer.file) : nullptr;
  if (!ask_about(transfer.fd, status) || (transfer.offset < 0 && position == nullptr)) {
    return transfer.reads ? -ENOTSUP : -EROFS;
  }
  const Extent extent{position != nullptr ? position->offset : transfer.offset, transfer.bytes};
  if (!transfer.reads) {
    const SleepGuard guard(g_lock);
    g_slice->pending.slice_wrote(identity_of(status), extent);
    // The slice goes on as the program does, for whom the write succeeds.
    if (position != nullptr) position->offset += extent.length;
    return -EROFS;
  }
  const std::int64_t bytes = read_ahead(transfer.fd, status, extent);
  if (position != nullptr) position->offset += bytes;
  return bytes;
}

std::int64_t make_slice_seek(int fd, std::uint32_t file, std::int64_t offset, int whence) noexcept {
  Position* const position = position_of(fd, file);
  if (position == nullptr) return -ESPIPE;
  std::int64_t from = 0;
  if (whence == SEEK_CUR) {
    from = position->offset;
  } else if (whence == SEEK_END) {
    struct stat status {};
    if (!ask_about(fd, status)) return -ENOTSUP;
    from = status.st_size;
  } else if (whence != SEEK_SET) {
    return -ENOTSUP;
  }
  if (offset < -from) return -EINVAL;
  return position->offset = from + offset;
}

void tell_slice(const recorder::Transfer& made) noexcept {
  if (made.bytes <= 0) return;
  if (made.reads) {
    g_ahead_bytes.fetch_sub(made.bytes, std::memory_order_acq_rel);
  } else {
    struct stat status {};
    if (made.offset < 0 || !ask_about(made.fd, status)) return;
    const SleepGuard guard(g_lock);
    if (g_slice == nullptr) return;
    g_slice->pending.program_wrote(identity_of(status), {made.offset, made.bytes});
  }
  g_events.fetch_add(1, std::memory_order_acq_rel);
  wake_all(g_events);
}

void tell_slice_of_close(int fd) noexcept {
  g_closes.fetch_add(1, std::memory_order_acq_rel);
  g_events.fetch_add(1, std::memory_order_acq_rel);
  wake_all(g_events);
  const auto closed = static_cast<std::uint32_t>(fd);
  if (g_in_use.load(std::memory_order_seq_cst) != closed) return;
  g_waiting_closes.fetch_add(1, std::memory_order_seq_cst);
  while (g_in_use.load(std::memory_order_seq_cst) == closed) {
    sleep_while(g_in_use, closed);
  }
  g_waiting_closes.fetch_sub(1, std::memory_order_relaxed);
}

void leave_slice_by_jump() noexcept {
  release_by_jump(g_lock);
}

}  // namespace iotune::prefetch
