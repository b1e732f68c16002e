#include "tuner/prefetch/watched_reads.h"

#include "recorder/preload/advice.h"
#include "recorder/preload/at_start.h"
#include "recorder/preload/process_buffer.h"
#include "recorder/preload/record_writer.h"
#include "recorder/preload/thread_state.h"
#include "recorder/preload/ticks.h"
#include "tuner/prefetch/helper_thread.h"
#include "tuner/prefetch/program_transfers.h"
#include "tuner/prefetch/stream_slots.h"

namespace iotune::tuner {
namespace {

using patterns::Extent;
using recorder::SpinGuard;
using recorder::Transfer;

constexpr std::int64_t kPageBytes = 4096;
// Reads that take less found their data in memory.
constexpr std::uint64_t kQuickNs = 50'000;

constinit recorder::ClockReading g_begin = {};
constinit std::atomic<bool> g_slots_ready{false};
constinit recorder::SpinLock g_setup_lock;
constinit PrefetchOptions g_options;

recorder::TickRate tick_rate() noexcept {
  return recorder::rate_between(g_begin, recorder::read_clocks(), {});
}

std::uint64_t nanoseconds(std::uint64_t ticks, recorder::TickRate rate) noexcept {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * rate.mult) >>
                                    recorder::TickRate::kShift);
}

// At the first read, when enough time has passed to tell the length of a tick.
void set_up() noexcept {
  const SpinGuard guard(g_setup_lock);
  if (g_slots_ready.load(std::memory_order_relaxed)) return;
  prefetch::Limits limits;
  const std::uint64_t mult = tick_rate().mult;
  limits.quick = (kQuickNs << recorder::TickRate::kShift) / (mult == 0 ? 1 : mult);
  set_up_slots(g_options, limits);
  set_up_helper(g_options.schedule);
  g_slots_ready.store(true, std::memory_order_release);
}

void note(StreamSlot& slot) noexcept {
  const prefetch::Counts& counts = slot.stream().counts();
  if (counts.requested == 0 || !recorder::buffer_exists()) return;
  const recorder::TickRate rate = tick_rate();
  recorder::RecordWriter record(recorder::CallNumber::kiotune_prefetch, recorder::ticks_now());
  record.key(slot.file);
  record.number(std::int64_t{slot.fd});
  for (const std::uint64_t value :
       {counts.reads, counts.hits, counts.late, counts.requested, counts.requested_bytes,
        counts.vain_bytes, nanoseconds(counts.wait, rate), nanoseconds(counts.saved, rate),
        std::uint64_t{counts.greatest_depth}}) {
    record.number(static_cast<std::int64_t>(value));
  }
  record.text(g_options.name);
  record.commit();
}

// stdio reads whole pages, and most of a program's small reads come out of what it has. False where
// this one did.
bool read_by_stdio(StreamSlot& slot, Extent& access) noexcept {
  std::int64_t first = access.offset / kPageBytes;
  const std::int64_t end = (access.offset + access.length + kPageBytes - 1) / kPageBytes;
  if (first >= slot.first_page && first < slot.end_page) first = slot.end_page;
  if (first >= end) return false;
  slot.first_page = access.offset / kPageBytes;
  slot.end_page = end;
  access = {first * kPageBytes, (end - first) * kPageBytes};
  return true;
}

void saw_read(const Transfer& read) noexcept {
  if (!g_slots_ready.load(std::memory_order_acquire)) set_up();
  StreamSlot* slot = slot_of(read.fd);
  if (slot == nullptr) slot = make_slot(read.fd, read.file);
  if (slot == nullptr) return;
  bool wants = false;
  {
    const SpinGuard guard(slot->lock);
    if (!slot->live || slot->fd != read.fd || slot->file != read.file || slot->unfit) return;
    Extent access{read.offset, read.bytes};
    if (read.buffered && !read_by_stdio(*slot, access)) return;
    if (slot->plan != nullptr) slot->plan->add(access);
    wants = slot->stream().saw_read(access, read.start_ticks, read.duration_ticks);
  }
  if (wants) ask_helper(*slot);
}

// Whether the program has to wait for this one whatever we do.
bool is_ahead(const Transfer& transfer) noexcept {
  StreamSlot* const slot = transfer.reads ? slot_of(transfer.fd) : nullptr;
  if (slot == nullptr) return false;
  const SpinGuard guard(slot->lock);
  return slot->live && slot->fd == transfer.fd && slot->stream().is_ahead();
}

__thread bool t_counted __attribute__((tls_model("initial-exec")));

void before_transfer(const Transfer& transfer) noexcept {
  if (t_counted || (g_options.schedule == Schedule::kOurs && is_ahead(transfer))) return;
  t_counted = true;
  begin_program_transfer();
}

void after_transfer(const Transfer& transfer) noexcept {
  if (t_counted) {
    t_counted = false;
    end_program_transfer();
  }
  if (transfer.reads && transfer.bytes > 0 && transfer.offset >= 0) saw_read(transfer);
}

void before_close(int fd, std::uint32_t) noexcept {
  StreamSlot* const slot = slot_of(fd);
  if (slot == nullptr) return;
  {
    const SpinGuard guard(slot->lock);
    if (!slot->live || slot->fd != fd) return;
    slot->live = false;
    slot->closing.store(true, std::memory_order_release);
  }
  wait_for_helper(*slot);
  slot->stream().end();
  note(*slot);
  keep_model(*slot);
  free_slot(*slot);
}

// Streams whose descriptors are open when the trace is written.
void before_trace() noexcept {
  if (!g_slots_ready.load(std::memory_order_acquire)) return;
  for (unsigned number = 0; number < slots_made(); ++number) {
    StreamSlot& slot = *slot_number(number);
    const SpinGuard guard(slot.lock);
    if (!slot.live) continue;
    slot.stream().end();
    note(slot);
    keep_model(slot);
  }
}

}  // namespace

void forget_prefetch_after_fork() noexcept {
  if (g_options.kind == nullptr) return;
  g_setup_lock.unlock();
  t_counted = false;
  forget_transfers_after_fork();
  forget_helper_after_fork();
  if (g_slots_ready.load(std::memory_order_relaxed)) forget_slots_after_fork();
}

IOTUNE_START_CODE void install_prefetch() noexcept {
  g_options = read_options();
  if (g_options.kind == nullptr || recorder::g_recording != recorder::kRecorded) return;
  g_begin = recorder::read_clocks();
  recorder::Advice& advice = recorder::g_advice;
  if (g_options.schedule == Schedule::kPpis || g_options.schedule == Schedule::kOurs) {
    advice.before_transfer = before_transfer;
  }
  advice.after_transfer = after_transfer;
  advice.before_close = before_close;
  advice.before_trace = before_trace;
  recorder::g_recording = recorder::kWatched;
}

}  // namespace iotune::tuner
