#include "prefetch/preload/helper_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "core/os/futex.h"
#include "core/os/private_memory.h"
#include "core/os/raw_syscall.h"
#include "core/os/signal_context.h"
#include "core/process/process_events.h"
#include "prefetch/budget/requests_under_way.h"
#include "prefetch/cache/piece_fillers.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;

// The kernel takes no more of a hint than it would read ahead: 128 KiB where nobody said otherwise.
constexpr std::int64_t kHintBytes = 128 << 10;
// Files grow: their size is asked for again after so many plans.
constexpr unsigned kPlansPerSize = 64;

enum class Helper : std::uint8_t { kNone, kStarting, kRuns, kImpossible };

constinit std::atomic<Helper> g_helper{Helper::kNone};
constinit std::atomic<std::uint64_t> g_asking[kMostStreams / 64] = {};
constinit std::atomic<std::uint32_t> g_sleeps{0};
constinit const PrefetchHost* g_host = nullptr;
constinit const Schedule* g_schedule = nullptr;
constinit bool g_has_budget = false;     // the helper's own: the schedule's, and there is a table
constinit std::byte* g_block = nullptr;  // what is read to be thrown away

// Asked without a lock: a file system may take its time.
void ask_about(StreamSlot& slot) noexcept {
  struct stat status {};
  constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH
  const bool found =
      raw::call(SYS_newfstatat, slot.fd, raw::word(""), raw::word(&status), kEmptyPath) == 0;
  const long flags = raw::call(SYS_fcntl, slot.fd, F_GETFL);
  const SleepGuard guard(slot.lock);
  slot.known = true;
  // O_DIRECT reads past the page cache, where hints end.
  slot.unfit = !found || !S_ISREG(status.st_mode) || flags < 0 || (flags & O_DIRECT) != 0 ||
               (flags & O_ACCMODE) == O_WRONLY;
  if (slot.unfit) slot.idle.store(true, std::memory_order_relaxed);
  slot.file_bytes = found && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Hints of one batch. A FUSE file system drops hints, without a word, where more requests are under
// way than it wants (64 in a good one): before one more is given, the one so long ago has to be
// there.
class HintsUnderWay {
 public:
  void wait_for_room(int fd) const noexcept {
    if (made_ >= kMost) wait_for(fd, ends_[made_ % kMost]);
  }
  // At the end of a large batch: the next one knows nothing of this one.
  void wait_for_last(int fd) const noexcept {
    if (made_ >= kMost) wait_for(fd, ends_[(made_ - 1) % kMost]);
  }
  void add(std::int64_t end) noexcept { ends_[made_++ % kMost] = end; }

 private:
  static void wait_for(int fd, std::int64_t end) noexcept {
    char byte;
    raw::call(SYS_pread64, fd, raw::word(&byte), 1, end - 1);
  }
  static constexpr unsigned kMost = 32;
  unsigned made_ = 0;
  std::int64_t ends_[kMost];
};

void hint(const StreamSlot& slot, const Extent& extent, HintsUnderWay& under_way) noexcept {
  const std::int64_t end = extent.offset + extent.length;
  for (std::int64_t at = extent.offset; at < end; at += kHintBytes) {
    under_way.wait_for_room(slot.fd);
    if (g_schedule->gives_way()) g_schedule->wait_for_turn(slot.closing);
    if (slot.closing.load(std::memory_order_acquire)) return;
    const std::int64_t bytes = std::min(kHintBytes, end - at);
    if (g_has_budget) {
      hint_within_budget(slot, at, bytes);
      continue;
    }
    raw::call(SYS_fadvise64, slot.fd, at, bytes, POSIX_FADV_WILLNEED);
    under_way.add(at + bytes);
  }
}

// What it gets stays in the page cache.
void read_blocks(const StreamSlot& slot, const Extent& extent) noexcept {
  const std::int64_t end = extent.offset + extent.length;
  for (std::int64_t at = extent.offset; at < end;) {
    if (g_schedule->gives_way()) g_schedule->wait_for_turn(slot.closing);
    if (slot.closing.load(std::memory_order_acquire)) return;
    const long bytes = g_schedule->read_block(slot.fd, g_block, {at, end - at});
    if (bytes <= 0) return;
    at += bytes;
  }
}

void serve(StreamSlot& slot) noexcept {
  bool buffered = false;
  {
    const SleepGuard guard(slot.lock);
    if (!slot.live || slot.unfit) return;
    buffered = slot.buffered_pages != 0;
    // From here on the descriptor stays what it is: who closes it waits for us.
    slot.in_flight.begin();
  }
  if (!slot.known || slot.plans++ % kPlansPerSize == kPlansPerSize - 1) ask_about(slot);
  // What may have to wait is chosen one by one: the next may be another then.
  Extent requests[prefetch::kMostAhead];
  HintsUnderWay under_way;
  const bool one_by_one = g_schedule->reads_itself() || g_has_budget;
  const std::span<Extent> room(requests, one_by_one ? 1 : prefetch::kMostAhead);
  for (bool more = true; more;) {
    unsigned count = 0;
    // stdio's reads are libc's own: hints are for them.
    CachedFile file;
    const bool caches = !buffered && may_be_cached(slot.fd, file);
    {
      const SleepGuard guard(slot.lock);
      if (!slot.live || slot.unfit) break;
      count = slot.stream().plan(room, slot.file_bytes);
      slot.is_ahead.store(slot.stream().is_ahead(), std::memory_order_relaxed);
      more = slot.stream().wants_more();
    }
    for (unsigned i = 0; i < count; ++i) {
      const Extent left = caches ? read_into_cache(slot, file, requests[i]) : requests[i];
      if (left.length == 0) continue;
      if (g_schedule->reads_itself()) {
        read_blocks(slot, left);
      } else {
        hint(slot, left, under_way);
      }
    }
    if (count == 0) break;
  }
  if (!slot.closing.load(std::memory_order_acquire)) under_way.wait_for_last(slot.fd);
  slot.in_flight.end();
}

bool serve_all() noexcept {
  bool any = false;
  for (unsigned word = 0; word < kMostStreams / 64; ++word) {
    std::uint64_t asking = g_asking[word].exchange(0, std::memory_order_seq_cst);
    any = any || asking != 0;
    for (; asking != 0; asking &= asking - 1) {
      serve(*slot_number(word * 64 + static_cast<unsigned>(__builtin_ctzll(asking))));
    }
  }
  return any;
}

}  // namespace

// A program that is bound to one core would have its helper wait for it there.
void leave_single_core() noexcept {
  unsigned long allowed[128] = {};
  const long bytes = raw::call(SYS_sched_getaffinity, 0, sizeof allowed, raw::word(&allowed));
  int cores = 0;
  for (const unsigned long word : allowed) cores += __builtin_popcountl(word);
  if (bytes < 0 || cores != 1) return;
  for (unsigned long& word : allowed) word = ~0ul;
  raw::call(SYS_sched_setaffinity, 0, sizeof allowed, raw::word(&allowed));
}

namespace {

void* run_helper(void*) noexcept {
  g_host->thread_is_ours();
  leave_single_core();
  g_has_budget = g_schedule->has_budget && start_request_watch(*g_host);
  for (;;) {
    if (serve_all()) continue;
    g_sleeps.store(1, std::memory_order_seq_cst);
    if (serve_all()) {
      g_sleeps.store(0, std::memory_order_relaxed);
      continue;
    }
    sleep_while(g_sleeps, 1);
  }
  return nullptr;
}

}  // namespace

namespace {

// All of these are found at run time: older systems have them in libpthread, which is not ours to
// load.
template <typename Function>
Function* of_libc(const char* name) noexcept {
  return reinterpret_cast<Function*>(g_host->symbol(name));
}

// A stack as large as the program's threads have would be taken from what it may use (ulimit -v).
// With room for the static thread-local memory of many libraries, which lies in it.
constexpr std::size_t kStackBytes = 1 << 20;

int create(unsigned long& thread, void* (*run)(void*), ThreadStack stack) noexcept {
  const auto create =
      of_libc<int(unsigned long*, const void*, void* (*)(void*), void*)>("pthread_create");
  if (create == nullptr) return ENOSYS;
  const auto begin = of_libc<int(pthread_attr_t*)>("pthread_attr_init");
  const auto set = of_libc<int(pthread_attr_t*, std::size_t)>("pthread_attr_setstacksize");
  const auto end = of_libc<int(pthread_attr_t*)>("pthread_attr_destroy");
  pthread_attr_t how;
  if (stack == ThreadStack::kSmall && begin != nullptr && set != nullptr && end != nullptr &&
      begin(&how) == 0) {
    const int failed = set(&how, kStackBytes) == 0 ? create(&thread, &how, run, nullptr) : EINVAL;
    end(&how);
    if (failed != EINVAL) return failed;  // too small for this program's thread-local memory
  }
  return create(&thread, nullptr, run, nullptr);
}

}  // namespace

bool start_quiet_thread(void* (*run)(void*), ThreadStack stack) noexcept {
  // A thread has the mask of the one that made it. Signals 32 and 33 are libc's: setuid waits for
  // every thread to answer one.
  const std::uint64_t all_but_libc = ~(std::uint64_t{3} << 31);
  std::uint64_t before = 0;
  raw::call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, raw::word(&all_but_libc), raw::word(&before),
            sizeof before);
  unsigned long thread = 0;
  const int failed = create(thread, run, stack);
  const auto detach = of_libc<int(unsigned long)>("pthread_detach");
  if (failed == 0 && detach != nullptr) detach(thread);
  // A handler that jumps out of a search for symbols would leave the loader's lock held.
  raw::call(SYS_rt_sigprocmask, 2, raw::word(&before), 0, sizeof before);
  return failed == 0;
}

namespace {

// Asked again at the next read that wants something, where it cannot be now: libc makes no thread
// inside of a signal handler.
void start_helper() noexcept {
  if (may_be_in_signal_handler()) return;
  Helper none = Helper::kNone;
  if (!g_helper.compare_exchange_strong(none, Helper::kStarting)) return;
  const bool needs_block = g_schedule->reads_itself();
  if (needs_block && g_block == nullptr) {
    g_block = static_cast<std::byte*>(private_memory(g_schedule->block_bytes));
  }
  const bool started = (!needs_block || g_block != nullptr) && start_quiet_thread(run_helper);
  g_helper.store(started ? Helper::kRuns : Helper::kImpossible);
  if (started) return;
  g_host->say("no thread could be started: nothing is prefetched");
}

// The child has no helper.
constinit AfterFork g_after_fork([]() noexcept {
  g_helper.store(Helper::kNone);
  g_sleeps.store(0);
  for (std::atomic<std::uint64_t>& word : g_asking) word.store(0);
});

}  // namespace

void set_up_helper(const PrefetchHost& host, const Schedule& schedule) noexcept {
  g_host = &host;
  g_schedule = &schedule;
  host.enlist(g_after_fork);
  set_up_requests(host);
}

void ask_helper(const StreamSlot& slot) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (slot.number % 64);
  g_asking[slot.number / 64].fetch_or(bit, std::memory_order_seq_cst);
  if (g_helper.load(std::memory_order_relaxed) == Helper::kNone) start_helper();
  if (g_sleeps.load(std::memory_order_seq_cst) != 0 && g_sleeps.exchange(0) != 0) {
    wake_all(g_sleeps);
  }
}

void wait_for_helper(StreamSlot& slot) noexcept {
  slot.in_flight.wait_for_end();
}

}  // namespace iotune::prefetch
