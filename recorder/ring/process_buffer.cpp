#include "recorder/ring/process_buffer.h"

#include "core/link/at_start.h"
#include "core/os/own_stack.h"
#include "core/os/raw_syscall.h"
#include "core/process/configuration.h"
#include "core/process/fork_marker.h"
#include "core/process/jump_safe_guard.h"
#include "core/process/privilege_drop.h"
#include "core/process/process_events.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/events_encoder.h"
#include "recorder/gather/process_text.h"
#include "recorder/ring/buffer_state.h"
#include "recorder/ring/file_sample.h"
#include "recorder/ring/ring_pool.h"
#include "recorder/ring/ring_store.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {

constinit Buffer g_buffer;
constinit RingPlace g_ring_places[kMaxRings];

namespace {

// Where a jump cut a change of the buffer short: what stands in it is joined later, calls from here
// on are counted.
void leave_half_changed_buffer() noexcept {
  g_buffer.failed = true;
  g_buffer.file.leave();
  static constinit bool said = false;
  say_once(said,
           "a signal handler jumped out of a change of iotune's buffer: calls from here on are "
           "counted, not recorded");
}

// In the child of a fork: forget the parent's buffer without touching it.
void forget_buffer_after_fork() noexcept {
  forget_rings();
  drop_scratch();
  const ClockReading first = read_clocks();
  g_buffer.at_once = g_buffer.at_once || g_buffer.file.exists();
  g_buffer.inherited = g_buffer.at_once || g_buffer.from_start;
  g_buffer.file.forget();
  g_buffer.calls = g_buffer.early_dropped = g_buffer.joined_at = 0;
  g_buffer.moved = {};
  g_buffer.failed = false;
  g_buffer.first = first;
  t_thread.ring = nullptr;
}

IOTUNE_START_DATA constinit AfterFork g_after_fork(forget_buffer_after_fork);

}  // namespace

constinit ProcessLock g_buffer_lock(leave_half_changed_buffer);

void enlist_buffer() noexcept {
  g_after_fork.enlist();
}

void calibrate() noexcept {
  if (has_dropped_privileges()) return;  // the rate of that moment stays
  const ClockReading now = read_clocks();
  g_buffer.rate = rate_between(g_buffer.first, now, g_buffer.rate);
  if (!g_buffer.file.exists()) return;
  BufferHeader& header = g_buffer.file.header();
  header.last_ticks = now.ticks;
  header.last_realtime_ns =
      g_buffer.first.realtime_ns + (now.monotonic_ns - g_buffer.first.monotonic_ns);
}

namespace {

// A rate good to some parts in a thousand at once, for a process that is killed early.
void first_calibration() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  while (clock_ns(CLOCK_MONOTONIC) - g_buffer.first.monotonic_ns < 20'000) {
  }
  calibrate();
}

// Other processes of the run may still have theirs there; the last one removes it.
void remove_run_directory(const char* directory) noexcept {
  constexpr long kDirectory = 0x200;  // AT_REMOVEDIR
  raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(directory), kDirectory);
}

}  // namespace

const ClockReading& first_reading() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  return g_buffer.first;
}

namespace {
// The lock is held.
bool make_buffer() noexcept {
  const char* const directory = run_directory();
  if (directory == nullptr) {
    g_buffer.failed = true;
    return false;
  }
  first_calibration();
  if (!g_buffer.file.create(directory, g_buffer.first)) {
    g_buffer.failed = true;
    // Of several, another one may be about to make its own in there.
    if (run_is_this_process()) remove_run_directory(directory);
    return false;
  }
  g_buffer.file.header().dropped = g_buffer.early_dropped;
  calibrate();
  static constinit ProcessText text;
  text.clear();
  describe_process(text, g_buffer.first, g_buffer.rate);
  g_buffer.file.add_text(BlockType::kProcess, text.c_str(), text.size());
  return true;
}
}  // namespace

bool start_buffer() noexcept {
  if (in_vfork_child()) return false;
  if (g_buffer.file.exists()) return true;
  if (g_buffer.failed || has_dropped_privileges()) return false;
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock, Waiting::kNotInHandler);
  if (!guard.held()) return false;
  bool exists = g_buffer.file.exists();
  if (!exists) run_with_room([&] { exists = make_buffer(); });
  return exists;
}

void start_buffer_if_worth(std::int64_t bytes) noexcept {
  if (g_buffer.file.exists()) return;
  constexpr std::int64_t kMuch = 4096;
  if (bytes >= kMuch) {
    start_buffer();
    return;
  }
  const Ring* const ring = ring_of_this_thread();
  if (ring == nullptr || ring->in_file) return;
  const std::size_t used = used_of(ring->word->load(std::memory_order_relaxed));
  if (used - ring->mark_bytes > kManyEarlyBytes) start_buffer();
}

bool nothing_recorded() noexcept {
  return g_buffer.ring_count == 0 && !g_buffer.at_once && !g_buffer.file.exists();
}

void expect_descriptors() noexcept {
  g_buffer.inherited = g_buffer.from_start = true;
}

namespace {
Ring* ring_of_this_thread(bool for_marks) noexcept {
  if (t_thread.ring != nullptr && t_thread.ring->in_file) return t_thread.ring;
  // A fork that ran no handlers shows here first: it wiped the ring.
  if (in_vfork_child()) return nullptr;
  const bool names_files = g_buffer.inherited && !for_marks;
  if (t_thread.ring != nullptr && !g_buffer.file.exists() && !names_files) return t_thread.ring;
  if (has_dropped_privileges()) return nullptr;  // a new one needs memory
  if (names_files) {
    // A child that goes on with its parent's descriptors opens nothing by itself.
    g_buffer.inherited = false;
    if (!g_buffer.at_once || start_buffer()) {
      const OwnCode own;
      announce_descriptors();
    }
  }
  mark_memory();
  const SignalSafeGuard guard(g_buffer_lock, Waiting::kNotInHandler);
  if (!guard.held()) return nullptr;
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  run_with_room([] {
    if (t_thread.ring == nullptr) t_thread.ring = ring_for(raw::call(SYS_gettid));
    if (t_thread.ring == nullptr || !g_buffer.file.exists()) return;
    if (!t_thread.ring->in_file) move_into_file(place_of(*t_thread.ring));
  });
  if (t_thread.ring == nullptr || !g_buffer.file.exists()) return t_thread.ring;
  return t_thread.ring->in_file ? t_thread.ring : nullptr;
}
}  // namespace

Ring* ring_of_this_thread() noexcept {
  return ring_of_this_thread(false);
}

Ring* ring_for_marks() noexcept {
  return ring_of_this_thread(true);
}

bool encode_ring(Ring& ring) noexcept {
  const SignalSafeGuard guard(g_buffer_lock, Waiting::kNotInHandler);
  bool stored = false;
  if (guard.held() && ring.in_file) run_with_room([&] { stored = store_and_empty(ring); });
  return stored;
}

std::uint32_t recorded_threads() noexcept {
  return g_buffer.threads;
}

void count_dropped(std::uint64_t calls) noexcept {
  // The file is the parent's.
  if (has_dropped_privileges() && is_copied_memory()) return;
  if (g_buffer.file.exists()) {
    __atomic_fetch_add(&g_buffer.file.header().dropped, calls, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&g_buffer.early_dropped, calls, __ATOMIC_RELAXED);
  }
}

std::uint64_t dropped_calls() noexcept {
  return g_buffer.file.exists() ? __atomic_load_n(&g_buffer.file.header().dropped, __ATOMIC_RELAXED)
                                : __atomic_load_n(&g_buffer.early_dropped, __ATOMIC_RELAXED);
}

void add_process_text(const char* text, std::size_t bytes) noexcept {
  if (!g_buffer.file.exists() || in_vfork_child()) return;
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock);
  g_buffer.file.add_text(BlockType::kProcess, text, bytes);
}

namespace {
// Those of other threads as copies. The lock is held.
void store_rings() noexcept {
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    Ring& ring = *g_ring_places[i].ring;
    if (&ring == t_thread.ring) {
      store_and_empty(ring);
    } else {
      store_copy_of(ring);
    }
  }
}
}  // namespace

void store_before_privilege_drop() noexcept {
  if (!g_buffer.file.exists()) return;
  const SignalSafeGuard guard(g_buffer_lock);
  store_rings();
  calibrate();
  drop_scratch();
}

void leave_file_system_of(const char* path) noexcept {
  if (path == nullptr || has_dropped_privileges() || in_vfork_child() || !g_buffer.file.exists())
    return;
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock);
  if (!g_buffer.file.is_on_file_system_of(path)) return;
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    const RingPlace& place = g_ring_places[i];
    if (place.in_file != nullptr) make_private(place.in_file, place.bytes);
  }
  g_buffer.file.keep_in_memory();
  if (const char* const directory = run_directory()) remove_run_directory(directory);
}

bool buffer_is_in_memory() noexcept {
  return g_buffer.file.is_in_memory();
}

void wait_for_changes_of_buffer() noexcept {
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock);
}

bool has_recorded_calls() noexcept {
  return g_buffer.calls > 0;
}
const IoTotals& moved_by_stored_calls() noexcept {
  return g_buffer.moved;
}

namespace {

constexpr timespec kHurry = {0, 50'000'000};

void end_held_buffer(const char* how) noexcept {
  // The process that joins the buffer stores them where this process has no memory to do so.
  if (have_scratch()) store_rings();
  calibrate();
  const bool nothing_new =
      g_buffer.joined_at != 0 && g_buffer.joined_at == g_buffer.file.block_bytes();
  if (nothing_new) return;
  static constinit ProcessText text;
  text.clear();
  text << "end=" << how << "\ncalls=" << g_buffer.calls
       << "\ndropped=" << g_buffer.file.header().dropped << '\n';
  if (sampled_out_files() > 0) text << "sampled_out=" << sampled_out_files() << '\n';
  g_buffer.file.add_text(BlockType::kEnd, text.c_str(), text.size());
  g_buffer.file.header().state = static_cast<std::uint32_t>(BufferState::kEnded);
}

}  // namespace

void end_buffer(const char* how) noexcept {
  if (!g_buffer.file.exists()) return;
  const OwnCode own;
  const SignalSafeGuard guard(
      g_buffer_lock, has_dropped_privileges() ? Waiting::kNotInHandler : Waiting::kAsLongAsItTakes);
  if (guard.held()) end_held_buffer(how);
}

bool end_buffer_in_a_hurry(const char* how) noexcept {
  if (!g_buffer.file.exists()) return true;
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock, kHurry);
  if (guard.held()) end_held_buffer(how);
  return guard.held();
}

void drop_buffer() noexcept {
  if (!g_buffer.file.exists()) return;
  const OwnCode own;
  const SignalSafeGuard guard(g_buffer_lock, kHurry);
  if (!guard.held()) return;
  g_buffer.file.remove();
  if (const char* const directory = run_directory()) remove_run_directory(directory);
}

bool buffer_exists() noexcept {
  return g_buffer.file.exists();
}

HeldBlocks::HeldBlocks() noexcept {
  if (!g_buffer.file.exists()) return;
  const SignalSafeGuard guard(g_buffer_lock);
  held_ = g_buffer.file.hold();
  g_buffer.held_at = held_.bytes;
  g_buffer.held_calls = g_buffer.calls;
}

HeldBlocks::~HeldBlocks() {
  if (!g_buffer.file.exists()) return;
  const SignalSafeGuard guard(g_buffer_lock);
  g_buffer.file.release();
}

bool HeldBlocks::visit(void (*visitor)(const std::byte*, std::size_t, void*),
                       void* context) const noexcept {
  if (g_buffer.file.visit(held_, visitor, context)) return true;
  static constinit bool said = false;
  say_once(said,
           "blocks of calls that left memory for a file cannot be read again: the trace "
           "says how many calls are missing");
  return false;
}

void mark_joined() noexcept {
  if (!g_buffer.file.exists()) return;
  // Another thread may have added blocks since.
  g_buffer.joined_at = g_buffer.held_at;
  g_buffer.file.header().joined_calls = g_buffer.held_calls;
  g_buffer.file.header().state = static_cast<std::uint32_t>(BufferState::kJoined);
}

namespace {
// Is there anything that the trace does not have?
bool anything_pending() noexcept {
  const SignalSafeGuard guard(g_buffer_lock);
  bool pending = g_buffer.joined_at != g_buffer.file.block_bytes();
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    const Ring& ring = *g_ring_places[i].ring;
    const std::uint64_t word = ring.word->load(std::memory_order_acquire);
    const std::uint64_t calls = count_calls({ring.records, used_of(word)});
    pending = pending || (calls != 0 && (word != ring.stored_word || calls != ring.stored_calls));
  }
  return pending;
}
}  // namespace

void remove_if_joined() noexcept {
  if (!g_buffer.file.exists() || g_buffer.joined_at == 0 || anything_pending()) return;
  g_buffer.file.remove();
  if (const char* const directory = run_directory()) remove_run_directory(directory);
}

}  // namespace iotune::recorder
