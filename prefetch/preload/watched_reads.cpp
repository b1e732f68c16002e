// Prefetching as a service of the recorder: the program's transfers become streams, and
// streams ask the helper. README.md tells how the parts go together.
#include <algorithm>

#include "core/os/sleep_lock.h"
#include "core/os/ticks.h"
#include "core/process/process_events.h"
#include "prefetch/budget/storage_budget.h"
#include "prefetch/cache/cached_reads.h"
#include "prefetch/cache/piece_fillers.h"
#include "prefetch/cache/read_cache.h"
#include "prefetch/cache/written_files.h"
#include "prefetch/files/file_readers.h"
#include "prefetch/files/watched_files.h"
#include "prefetch/preload/helper_thread.h"
#include "prefetch/preload/plan_choice.h"
#include "prefetch/preload/program_transfers.h"
#include "prefetch/preload/stream_slots.h"
#include "prefetch/slices/slice.h"
#include "recorder/hooks/service.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;
using recorder::Transfer;

constexpr std::int64_t kPageBytes = 4096;
// Reads that take less found their data in memory.
constexpr std::uint64_t kQuickNs = 50'000;

// What Transfer::counted says: of this process; of the storage with that number, too.
constexpr std::uint8_t kOfProcess = 1, kOfStorage = 2;

constinit const PrefetchHost* g_host = nullptr;
constinit std::atomic<bool> g_slots_ready{false};
constinit SleepLock g_setup_lock;
constinit PrefetchOptions g_options;
// The child makes streams of its own.
constinit AfterFork g_after_fork([]() noexcept {
  g_setup_lock.unlock();
  if (g_slots_ready.load(std::memory_order_relaxed)) forget_slots_after_fork();
});

// At the first read, when enough time has passed to tell the length of a tick.
void set_up() noexcept {
  const SleepGuard guard(g_setup_lock);
  if (g_slots_ready.load(std::memory_order_relaxed)) return;
  prefetch::Limits limits;
  const std::uint64_t mult = g_host->ns_per_tick();
  limits.quick = (kQuickNs << TickRate::kShift) / (mult == 0 ? 1 : mult);
  set_up_slots(g_options, limits);
  g_slots_ready.store(true, std::memory_order_release);
}

void note(StreamSlot& slot) noexcept {
  prefetch::Counts counts = slot.stream().counts();
  std::uint64_t unused_bytes = counts.unused_bytes();
  const SavedState* const state = saved_state(slot);
  if (state != nullptr && state->ahead) {  // before it was opened: all of it
    counts.hits = static_cast<std::uint32_t>(counts.reads);
    ++counts.requested;
    counts.requested_bytes += state->ahead_bytes;
    unused_bytes +=
        state->ahead_bytes - std::min<std::uint64_t>(state->ahead_bytes, state->bytes_read);
    if (counts.greatest_depth == 0) counts.greatest_depth = 1;
  }
  if (counts.requested == 0) return;
  g_host->note({.fd = slot.fd,
                .file = slot.file,
                .reads = counts.reads,
                .hits = counts.hits,
                .late = counts.late,
                .requested = counts.requested,
                .requested_bytes = counts.requested_bytes,
                .unused_bytes = unused_bytes,
                .wait = counts.wait,
                .saved = counts.saved,
                .greatest_depth = counts.greatest_depth,
                .served = served_reads(slot.number),
                .predictor = g_options.name});
}

// stdio reads whole pages, and most of a program's small reads come out of what it has. False where
// this one did.
bool read_by_stdio(StreamSlot& slot, Extent& access) noexcept {
  std::int64_t first = access.offset / kPageBytes;
  const std::int64_t end = (access.offset + access.length + kPageBytes - 1) / kPageBytes;
  const std::int64_t buffered_end = slot.first_page + slot.buffered_pages;
  if (first >= slot.first_page && first < buffered_end) first = buffered_end;
  if (first >= end) return false;
  // Of a long read it is the end that stdio has.
  slot.first_page = std::max(access.offset / kPageBytes, end - UINT16_MAX);
  slot.buffered_pages = static_cast<std::uint16_t>(end - slot.first_page);
  access = {first * kPageBytes, (end - first) * kPageBytes};
  return true;
}

// The first read of a descriptor begins a file of its directory. True where others are to be read
// ahead now. The stream is locked.
bool saw_file(SavedState& state, const Transfer& read) noexcept {
  const bool is_first = state.bytes_read == 0;
  state.bytes_read += static_cast<std::uint64_t>(read.bytes);
  if (!is_first) return false;
  const FileBegun begun = file_begins(read.fd, read.duration_ticks >= quick_ticks());
  state.ahead = begun.ahead;
  state.ahead_bytes = begun.bytes;
  return begun.wants;
}

// A read that may count. Locks its stream.
__attribute__((noinline)) void follow(const Transfer& read, StreamSlot* slot) noexcept {
  if (!g_slots_ready.load(std::memory_order_acquire)) set_up();
  if (slot == nullptr) slot = make_slot(read.fd, read.file);
  if (slot == nullptr) return;
  bool wants = false, wants_files = false;
  {
    const SleepGuard guard(slot->lock);
    if (!slot->live || slot->fd != read.fd || slot->file != read.file || slot->unfit) return;
    Extent access{read.offset, read.bytes};
    SavedState* const state = g_options.kind->name == "recorded" ? saved_state(*slot) : nullptr;
    if (state != nullptr) wants_files = saw_file(*state, read);
    if (read.buffered && !read_by_stdio(*slot, access)) return;
    if (state != nullptr && state->plan != nullptr) state->plan->add(access);
    const bool planned = state != nullptr && is_planned(*slot, access);
    wants = slot->stream().saw_read(access, read.start_ticks, read.duration_ticks);
    if (state != nullptr) choose_plan(*slot, access, planned);
    if (slot->stream().wants_best()) give_best(*slot);
    slot->is_ahead.store(slot->stream().is_ahead(), std::memory_order_relaxed);
    // A plan is written down whole, and followed read by read.
    slot->idle.store(state == nullptr && slot->stream().is_idle(), std::memory_order_relaxed);
  }
  // It may have been asked for while it was under way: no helper needs to begin it any more.
  if (!read.served && is_any_cached(slot->number)) {
    take_over({slot->number, read.fd, read.file}, {read.offset, read.bytes});
  }
  // The helper is who joins the node's budget.
  if (wants || wants_files) ask_helper(*slot);
  if (wants_files) ask_file_readers();
}

inline void saw_read(const Transfer& read) noexcept {
  StreamSlot* const slot = slot_of(read.fd);
  // The slot may be another descriptor's by now: then one read is not reported, or one more is.
  if (slot != nullptr && slot->idle.load(std::memory_order_relaxed) &&
      read.duration_ticks < quick_ticks()) {
    return;
  }
  follow(read, slot);
}

// Whether the program has to wait for this one whatever we do. A guess: nothing but the order of
// transfers follows from it.
bool is_ahead(const Transfer& transfer) noexcept {
  const StreamSlot* const slot = transfer.reads ? slot_of(transfer.fd) : nullptr;
  return slot != nullptr && slot->is_ahead.load(std::memory_order_relaxed);
}

void before_transfer(Transfer& transfer) noexcept {
  if (g_options.schedule->passes_predicted && is_ahead(transfer)) return;
  transfer.counted = kOfProcess;
  begin_program_transfer();
  if (!g_options.schedule->has_budget) return;
  const unsigned storage = storage_of(transfer.fd);
  if (g_storage_budget.begin_transfer(storage)) {
    transfer.counted = static_cast<std::uint8_t>(kOfStorage + storage);
  }
}

void left_transfer(std::uint8_t counted) noexcept {
  if (counted != 0) end_program_transfer();
  if (counted >= kOfStorage) g_storage_budget.end_transfer(counted - kOfStorage);
}

void after_transfer(const Transfer& transfer) noexcept {
  left_transfer(transfer.counted);
  if (g_slice_runs.load(std::memory_order_acquire)) tell_slice(transfer);
  if (transfer.reads && transfer.bytes > 0 && transfer.offset >= 0) saw_read(transfer);
}

void before_close(int fd, std::uint32_t) noexcept {
  forget_storage_of(fd);
  if (g_slice_runs.load(std::memory_order_acquire)) tell_slice_of_close(fd);
  StreamSlot* const slot = slot_of(fd);
  if (slot == nullptr) return;
  {
    const SleepGuard guard(slot->lock);
    if (!slot->live || slot->fd != fd) return;
    slot->live = false;
    slot->closing.store(true, std::memory_order_release);
  }
  // What the helper was about to add to the cache goes as well; its threads begin none of it then.
  for (int i = 0; i < 2; ++i) {
    drop_stream(slot->number, true);
    wait_for_helper(*slot);
  }
  slot->stream().end();
  note(*slot);
  keep_model(*slot);
  if (const SavedState* const state = saved_state(*slot)) file_ends(fd, state->bytes_read);
  free_slot(*slot);
}

// Streams whose descriptors are open when the trace is written.
void before_trace() noexcept {
  if (!g_slots_ready.load(std::memory_order_acquire)) return;
  for (unsigned number = 0; number < slots_made(); ++number) {
    StreamSlot& slot = *slot_number(number);
    const SleepGuard guard(slot.lock);
    if (!slot.live) continue;
    slot.stream().end();
    note(slot);
    keep_model(slot);
  }
  keep_file_orders();
}

// A signal handler leaves this thread's calls by longjmp.
void jumped() noexcept {
  release_by_jump(g_setup_lock);
  leave_slice_by_jump();
  leave_files_by_jump();
  if (g_slots_ready.load(std::memory_order_acquire)) leave_slots_by_jump();
  if (leave_cache_by_jump()) end_caching("a signal handler jumped out of a change of it");
}

bool begin(void* host) noexcept;

constinit recorder::Service g_service = {.begin = begin,
                                         .before_trace = before_trace,
                                         .jumped = jumped,
                                         .after = after_transfer,
                                         .left = left_transfer,
                                         .before_close = before_close};

bool begin(void* given) noexcept {
  auto& host = *static_cast<PrefetchHost*>(given);
  g_host = &host;
  g_options = read_options(host);
  if (g_options.kind == nullptr) return false;
  host.enlist(g_after_fork);
  set_up_program_transfers(host);
  set_up_saved(host);
  set_up_helper(host, *g_options.schedule);
  set_up_slices(host, *g_options.schedule);
  if (g_options.kind->name == "recorded" && !g_options.schedule->reads_itself()) {
    set_up_files(host);
    set_up_file_readers(host, *g_options.schedule);
  }
  if (g_options.delivery == Delivery::kCache && set_up_caching(host, g_options)) {
    g_service.serve_read = serve_read;
    g_service.before_change = before_change;
    g_service.after_change = after_change;
    g_service.opened = opened;
    g_service.before_any_close = before_any_close;
    g_service.after_any_close = after_any_close;
    g_service.mapped = mapped;
    g_service.synchronised = synchronised;
    g_service.before_mpi_init = rank_begins;
  }
  if (g_options.schedule->gives_way()) g_service.before = before_transfer;
  host.preexecute = start_slice;
  return true;
}

}  // namespace
}  // namespace iotune::prefetch

extern "C" __attribute__((visibility("default"))) iotune::recorder::Service*
iotune_service() noexcept {
  return &iotune::prefetch::g_service;
}
