#include "prefetch/cache/piece_fillers.h"

#include <time.h>

#include <algorithm>

#include "core/os/futex.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"
#include "core/os/sleep_lock.h"
#include "core/process/process_events.h"
#include "prefetch/budget/storage_budget.h"
#include "prefetch/cache/read_cache.h"
#include "prefetch/preload/helper_thread.h"

namespace iotune::prefetch {

constinit std::atomic<bool> g_caches{false};

namespace {

using patterns::Extent;

// Reads of the storage at once; hints have as many under way in the kernel.
constexpr unsigned kMostFillers = 16;
constexpr unsigned kQueue = 256;
// Dead writers are looked for after so many plans for a file that seems to be written.
constexpr unsigned kPlansPerSearch = 16;

constinit const PrefetchHost* g_host = nullptr;
constinit const Schedule* g_schedule = nullptr;
constinit std::uint64_t g_memory_bytes = 0;
constinit std::atomic<bool> g_said{false};
constinit bool g_ranks_known = false;
constinit unsigned g_plans = 0;

constinit SleepLock g_lock;  // of the queue
constinit PieceName g_queue[kQueue];
constinit unsigned g_first = 0, g_count = 0;
constinit std::atomic<std::uint32_t> g_events{0}, g_idle{0};
constinit unsigned g_fillers = 0;  // the helper's

std::uint64_t now_ns() noexcept {
  timespec now{};
  raw::call(SYS_clock_gettime, CLOCK_MONOTONIC, raw::word(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// A place in the node's budget, once the program waits for nothing; kNone: there is no budget, or
// nobody wants the piece any more.
unsigned wait_for_budget(StreamSlot& slot) noexcept {
  g_schedule->wait_for_turn(slot.closing);
  if (!g_schedule->has_budget) return StorageBudget::kNone;
  int fd = -1;
  {
    const SleepGuard guard(slot.lock);
    if (slot.live) fd = slot.fd;
  }
  const unsigned storage = storage_of(fd);
  const bool has_place =
      storage != StorageBudget::kNone && g_storage_budget.wait_for_request(storage, slot.closing);
  return has_place ? storage : StorageBudget::kNone;
}

// How many bytes were read.
std::int64_t fill(PieceName name) noexcept {
  const Filling filling = begin_filling(name);
  if (filling.to == nullptr) return 0;
  StreamSlot& slot = *slot_number(filling.slot);
  std::int64_t bytes = 0;
  while (bytes < filling.extent.length) {
    const long part = raw::call(SYS_pread64, slot.fd, raw::word(filling.to + bytes),
                                filling.extent.length - bytes, filling.extent.offset + bytes);
    // An error is the program's own to see, when it reads there.
    if (part <= 0) break;
    bytes += part;
  }
  end_filling(name, bytes);
  slot.in_flight.end();
  return bytes;
}

// By schedule.
void fill_in_turn(PieceName name) noexcept {
  if (!g_schedule->gives_way()) {
    fill(name);
    return;
  }
  unsigned number = 0;
  // Until it begins the program may take it over.
  if (!slot_of_piece(name, number)) return;
  const unsigned storage = wait_for_budget(*slot_number(number));
  const std::uint64_t begin_ns = now_ns();
  const std::int64_t bytes = fill(name);
  if (storage == StorageBudget::kNone) return;
  if (bytes > 0) g_storage_budget.learn(storage, bytes, now_ns() - begin_ns);
  g_storage_budget.end_request(storage);
}

bool take(PieceName& name) noexcept {
  const SleepGuard guard(g_lock);
  if (g_count == 0) return false;
  name = g_queue[g_first];
  g_first = (g_first + 1) % kQueue;
  --g_count;
  return true;
}

bool put(PieceName name) noexcept {
  {
    const SleepGuard guard(g_lock);
    if (g_count == kQueue) return false;
    g_queue[(g_first + g_count++) % kQueue] = name;
  }
  g_events.fetch_add(1, std::memory_order_seq_cst);
  if (g_idle.load(std::memory_order_seq_cst) != 0) wake_one(g_events);
  return true;
}

void* run_filler(void*) noexcept {
  g_host->thread_is_ours();
  leave_single_core();
  for (;;) {
    const std::uint32_t events = g_events.load(std::memory_order_seq_cst);
    PieceName name;
    if (take(name)) {
      fill_in_turn(name);
      continue;
    }
    g_idle.fetch_add(1, std::memory_order_seq_cst);
    sleep_while(g_events, events);
    g_idle.fetch_sub(1, std::memory_order_seq_cst);
  }
  return nullptr;
}

// By the helper, which is in no signal handler.
bool has_fillers() noexcept {
  if (g_fillers < kMostFillers && g_idle.load(std::memory_order_relaxed) == 0 &&
      start_quiet_thread(run_filler)) {
    ++g_fillers;
  }
  return g_fillers != 0;
}

// Whether every process that may write to this job's files tells of it.
bool ranks_agree() noexcept {
  if (g_ranks_known) return true;
  const int ranks = g_host->ranks_on_node();
  if (ranks < 0) return false;
  if (ranks == 0) {
    end_caching("the ranks are on several nodes, or some of them are not tuned");
  } else if (ranks > 1 && registered_ranks(g_host->run_id()) < static_cast<unsigned>(ranks)) {
    end_caching("not all ranks have IOTUNE_PREFETCH_DELIVERY=cache");
  } else {
    g_ranks_known = true;
  }
  return g_ranks_known;
}

// The child has no fillers.
constinit AfterFork g_after_fork([]() noexcept {
  g_lock.unlock();
  g_first = g_count = 0;
  g_fillers = 0;
  g_idle.store(0, std::memory_order_relaxed);
});

}  // namespace

void end_caching(const char* why) noexcept {
  g_caches.store(false, std::memory_order_seq_cst);
  if (g_said.exchange(true, std::memory_order_relaxed)) return;
  ShortText<256> text;
  text << "IOTUNE_PREFETCH_DELIVERY=cache: " << why << ": hints are given instead";
  g_host->say(text.c_str());
}

bool set_up_caching(const PrefetchHost& host, const PrefetchOptions& options) noexcept {
  g_host = &host;
  g_schedule = options.schedule;
  g_memory_bytes = options.memory_bytes;
  if (const char* const fault = set_up_written_files(host)) {
    end_caching(fault);
    return false;
  }
  host.enlist(g_after_fork);
  g_caches.store(true, std::memory_order_seq_cst);
  return true;
}

void rank_begins() noexcept {
  register_rank(g_host->run_id());
}

bool may_be_cached(int fd, CachedFile& file) noexcept {
  if (!g_caches.load(std::memory_order_relaxed) || !ranks_agree()) return false;
  if (!table_stands()) {
    end_caching("its table was removed");
    return false;
  }
  if (!set_up_read_cache(g_memory_bytes)) {
    end_caching("there is no memory for it");
    return false;
  }
  // The word comes first: what the stamp says was so after it.
  if (!stamp_of(fd, file.stamp)) return false;
  file.word = file_word(file.stamp);
  if (may_be_written(file.word)) {
    if (g_plans++ % kPlansPerSearch == 0) forget_dead_writers();
    file.word = file_word(file.stamp);
  }
  if (may_be_written(file.word) || !stamp_of(fd, file.stamp)) return false;
  file.now_ns = now_ns();
  return g_schedule->reads_itself() || has_fillers();
}

Extent read_into_cache(const StreamSlot& slot, const CachedFile& file,
                       const Extent& extent) noexcept {
  constexpr unsigned kAtOnce = 32;
  PieceName names[kAtOnce];
  const std::int64_t end = extent.offset + extent.length;
  std::int64_t at = extent.offset;
  while (at < end) {
    unsigned count = 0;
    bool room = true;
    for (; at < end && count < kAtOnce && room;) {
      const std::int64_t bytes = std::min(kPieceBytes, end - at);
      const PieceName name = add_piece({slot.number, slot.fd, slot.file}, file.stamp, file.word,
                                       {at, bytes}, file.now_ns);
      room = name.number != kNoPiece;
      if (!room) break;
      if (g_schedule->reads_itself()) {
        names[count++] = name;
      } else if (!put(name)) {
        drop_piece(name);
        room = false;
        break;
      } else {
        has_fillers();
      }
      at += bytes;
    }
    for (unsigned i = 0; i < count; ++i) fill_in_turn(names[i]);
    if (!room) break;
  }
  return {at, end - at};
}

}  // namespace iotune::prefetch
