#include "recorder/preload/process_buffer.h"

#include <cstring>
#include <initializer_list>

#include "patterns/bytes.h"
#include "recorder/events_encoder.h"
#include "recorder/preload/buffer_file.h"
#include "recorder/preload/configuration.h"
#include "recorder/preload/descriptor_table.h"
#include "recorder/preload/fork_marker.h"
#include "recorder/preload/mapped_file.h"
#include "recorder/preload/process_text.h"
#include "recorder/preload/raw_syscall.h"
#include "recorder/preload/run_identity.h"
#include "recorder/preload/spin_lock.h"
#include "recorder/preload/thread_state.h"

namespace iotune::recorder {
namespace {

// Calls of a thread whose times are kept one by one, by Times. An HDF5 call stands for many below.
constexpr std::uint16_t kExactCalls[kTimesKinds] = {0, 256, 128, 32, 64};

// A ring and where its records lie. Not in the ring itself, which a fork wipes.
struct RingPlace {
  Ring* ring = nullptr;
  std::byte* in_file = nullptr;  // nullptr: not yet
  std::size_t bytes = 0;
  std::uint32_t segment = 0;
};

struct Buffer {
  BufferFile file;
  RingPlace rings[kMaxRings];
  std::uint32_t ring_count = 0;
  std::uint32_t threads = 0;
  std::uint32_t refused = 0;     // threads' calls that found no ring
  std::byte* scratch = nullptr;  // for the encoder, then a copy of a ring
  std::size_t scratch_bytes = 0;
  ClockReading first = {};
  TickRate rate = {};
  std::uint64_t calls = 0;
  std::uint64_t early_dropped = 0;
  std::uint64_t visited_at = 0;     // bytes in all block segments when they were read last
  std::uint64_t visited_calls = 0;  // and the calls in these
  std::uint64_t joined_at = 0;      // of these, what stands in a trace; 0: never
  bool failed = false;
  bool inherited = false;  // this process was forked by one that had a buffer, and has none yet
};
constinit Buffer g_buffer;
// Taken by whoever encodes a ring or adds a segment.
constinit SpinLock g_lock;

void calibrate() noexcept {
  const ClockReading now = read_clocks();
  g_buffer.rate = rate_between(g_buffer.first, now, g_buffer.rate);
  if (!g_buffer.file.exists()) return;
  BufferHeader& header = g_buffer.file.header();
  header.last_ticks = now.ticks;
  header.last_realtime_ns =
      g_buffer.first.realtime_ns + (now.monotonic_ns - g_buffer.first.monotonic_ns);
}

// A rate good to some parts in a thousand at once, for a process that is killed early.
void first_calibration() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  while (clock_ns(CLOCK_MONOTONIC) - g_buffer.first.monotonic_ns < 20'000) {
  }
  calibrate();
}

std::uint32_t used_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word);
}
std::uint32_t epoch_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}
std::uint64_t emptied(std::uint64_t word) noexcept {
  return static_cast<std::uint64_t>(epoch_of(word) + 1) << 32;
}

// Scratch for one ring's records and, behind it, room for a copy of them.
bool have_scratch() noexcept {
  if (g_buffer.scratch != nullptr) return true;
  g_buffer.scratch_bytes = scratch_bytes_needed(kRingBytes);
  g_buffer.scratch = static_cast<std::byte*>(private_memory(g_buffer.scratch_bytes + kRingBytes));
  return g_buffer.scratch != nullptr;
}

// Writes the records as an EVENTS block. `calls`: how many they are. False: no room.
bool store_records(const std::byte* records, std::uint64_t word, std::uint32_t thread,
                   std::uint64_t& calls) noexcept {
  calibrate();
  const std::uint32_t used = used_of(word);
  EventsRequest request;
  request.records = {records, used};
  request.first_ticks = g_buffer.first.ticks;
  request.rate_mult = g_buffer.rate.mult;
  request.rate_shift = TickRate::kShift;
  request.thread = thread;
  request.epoch = epoch_of(word);
  request.coded_times = configuration().time_every_call && !configuration().exact_times;
  request.calls = &calls;
  if (have_scratch()) {
    request.scratch = {g_buffer.scratch, g_buffer.scratch_bytes};
    // Most batches cost a few hundred bytes; only then room for the worst case.
    for (const std::size_t wanted : {std::size_t{4096}, events_bytes_at_most(used)}) {
      std::size_t capacity = 0;
      std::byte* const room = g_buffer.file.room_for(wanted, capacity);
      if (room == nullptr) break;
      patterns::ByteWriter payload({room, capacity});
      if (encode_events(request, payload)) {
        g_buffer.file.publish(BlockType::kEvents, payload.bytes_used());
        return true;
      }
    }
  }
  calls = count_calls(request.records);
  return false;
}

// Another thread's ring stays as it is, because that thread may be writing: it is stored as a
// copy, and again when its owner empties it. A reader keeps the block with more calls.
void store_copy_of(Ring& ring) noexcept {
  if (!have_scratch()) return;
  const std::uint64_t word = ring.word->load(std::memory_order_acquire);
  std::byte* const copy = g_buffer.scratch + g_buffer.scratch_bytes;
  for (std::size_t at = 0; at < used_of(word); at += 8) {
    const std::uint64_t value = __atomic_load_n(
        reinterpret_cast<const std::uint64_t*>(ring.records + at), __ATOMIC_RELAXED);
    std::memcpy(copy + at, &value, 8);
  }
  const std::uint64_t counted = count_calls({copy, used_of(word)});
  if (counted == 0 || (word == ring.stored_word && counted == ring.stored_calls)) return;
  std::uint64_t calls = 0;
  if (!store_records(copy, word, ring.thread, calls)) return;  // its owner may have more luck
  g_buffer.calls += calls - ring.stored_calls;
  ring.stored_word = word;
  ring.stored_calls = calls;
}

// Its owner's: stores the records and empties the ring. The lock is held.
bool store_and_empty(Ring& ring) noexcept {
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  if (used_of(word) == 0) return true;
  std::uint64_t calls = 0;
  const bool stored = store_records(ring.records, word, ring.thread, calls);
  if (stored) {
    g_buffer.calls += calls - ring.stored_calls;
  } else {
    // Calls may be dropped elsewhere without the lock.
    __atomic_fetch_add(&g_buffer.file.header().dropped, calls - ring.stored_calls,
                       __ATOMIC_RELAXED);
  }
  ring.stored_calls = 0;
  ring.word->store(emptied(word), std::memory_order_release);
  ring.cursor.emptied();
  return stored;
}

// A thread that has ended writes no more. Kernel numbers are reused: then it counts as alive, which
// costs its ring for as long.
bool owner_is_alive(const Ring& ring, long self) noexcept {
  constexpr long kNoSuchThread = -3;  // ESRCH
  return ring.owner != self && raw::call(SYS_tgkill, g_own_pid, ring.owner, 0) != kNoSuchThread;
}

void give_to(Ring& ring, long thread) noexcept {
  ring.thread = g_buffer.threads++;
  ring.owner = thread;
  ring.stored_word = ring.stored_calls = 0;
  std::memcpy(ring.exact_left, kExactCalls, sizeof kExactCalls);
  ring.cursor.emptied();
}

Ring* make_ring(long thread) noexcept {
  if (g_buffer.ring_count == kMaxRings) return nullptr;
  // The ring's description lives in front of the early ring's memory.
  static_assert(sizeof(Ring) <= 4032);
  auto* const memory = static_cast<std::byte*>(private_memory(kEarlyRingBytes + 4096));
  if (memory == nullptr) return nullptr;
  wipe_on_fork(memory, kEarlyRingBytes + 4096);
  auto* const ring = reinterpret_cast<Ring*>(memory);
  ring->word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory + 4032);
  ring->records = memory + 4096;
  ring->capacity_bytes = kEarlyRingBytes;
  ring->in_file = false;
  give_to(*ring, thread);
  g_buffer.rings[g_buffer.ring_count++] = {ring, nullptr, 0, 0};
  return ring;
}

// Where there is no room its calls go into a block, or are counted as dropped.
void move_into_file(RingPlace& place) noexcept {
  Ring& ring = *place.ring;
  const bool many = &place - g_buffer.rings >= kLargeRings;
  const std::size_t bytes = many ? kSmallRingBytes : kRingBytes;
  std::byte* const memory = g_buffer.file.add_ring(ring.thread, bytes, place.segment);
  if (memory == nullptr) {
    store_and_empty(ring);
    return;
  }
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  std::memcpy(memory + kRingHeadBytes, ring.records, used_of(word));
  ring.word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
  ring.records = memory + kRingHeadBytes;
  ring.capacity_bytes = bytes - kRingHeadBytes;
  ring.word->store(word, std::memory_order_release);
  ring.in_file = true;
  place.in_file = memory;
  place.bytes = bytes;
}

// The ring of a thread that has ended, its records stored; nullptr where there is none.
Ring* take_over_ring(long thread) noexcept {
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    RingPlace& place = g_buffer.rings[i];
    Ring& ring = *place.ring;
    if (owner_is_alive(ring, thread)) continue;
    if (used_of(ring.word->load(std::memory_order_acquire)) != 0) {
      if (!g_buffer.file.exists()) continue;
      store_and_empty(ring);
    }
    give_to(ring, thread);
    if (ring.in_file) g_buffer.file.give_ring(place.segment, ring.thread);
    return &ring;
  }
  return nullptr;
}

RingPlace& place_of(const Ring& ring) noexcept {
  std::uint32_t i = 0;
  while (g_buffer.rings[i].ring != &ring) ++i;
  return g_buffer.rings[i];
}

Ring* ring_for(long thread) noexcept {
  // Asking after every thread at every call would cost more than the calls.
  const bool full = g_buffer.ring_count == kMaxRings;
  if (full && g_buffer.refused++ % 256 != 0) return nullptr;
  Ring* ring = take_over_ring(thread);
  if (ring == nullptr) ring = make_ring(thread);
  if (ring == nullptr && full) {
    static constinit bool said = false;
    say_once(said, "more threads at once than can be recorded: some calls are counted only");
  }
  return ring;
}

}  // namespace

const ClockReading& first_reading() noexcept {
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  return g_buffer.first;
}

bool start_buffer() noexcept {
  if (in_vfork_child()) return false;
  if (g_buffer.file.exists()) return true;
  if (g_buffer.failed) return false;
  const OwnCode own;
  const SpinGuard guard(g_lock);
  if (g_buffer.file.exists()) return true;
  const char* const directory = run_directory();
  if (directory == nullptr) {
    g_buffer.failed = true;
    return false;
  }
  first_calibration();
  if (!g_buffer.file.create(directory, g_buffer.first)) {
    g_buffer.failed = true;
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

Ring* ring_of_this_thread() noexcept {
  if (t_thread.ring != nullptr && t_thread.ring->in_file) return t_thread.ring;
  // A fork that ran no handlers shows here first: it wiped the ring.
  if (in_vfork_child()) return nullptr;
  if (t_thread.ring != nullptr && !g_buffer.file.exists()) return t_thread.ring;
  if (g_buffer.inherited) {
    // A child that goes on with its parent's descriptors opens nothing by itself.
    g_buffer.inherited = false;
    if (start_buffer()) {
      const OwnCode own;
      announce_descriptors();
    }
  }
  mark_memory();
  const SpinGuard guard(g_lock);
  if (g_buffer.first.ticks == 0) g_buffer.first = read_clocks();
  if (t_thread.ring == nullptr) t_thread.ring = ring_for(raw::call(SYS_gettid));
  if (t_thread.ring == nullptr || !g_buffer.file.exists()) return t_thread.ring;
  if (!t_thread.ring->in_file) move_into_file(place_of(*t_thread.ring));
  return t_thread.ring->in_file ? t_thread.ring : nullptr;
}

bool encode_ring(Ring& ring) noexcept {
  const SpinGuard guard(g_lock);
  return ring.in_file && store_and_empty(ring);
}

void count_dropped(std::uint64_t calls) noexcept {
  if (g_buffer.file.exists()) {
    __atomic_fetch_add(&g_buffer.file.header().dropped, calls, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&g_buffer.early_dropped, calls, __ATOMIC_RELAXED);
  }
}

void add_process_text(const char* text, std::size_t bytes) noexcept {
  if (!g_buffer.file.exists() || in_vfork_child()) return;
  const OwnCode own;
  const SpinGuard guard(g_lock);
  g_buffer.file.add_text(BlockType::kProcess, text, bytes);
}

void end_buffer(const char* how) noexcept {
  if (!g_buffer.file.exists()) return;
  const OwnCode own;
  const SpinGuard guard(g_lock);
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    Ring& ring = *g_buffer.rings[i].ring;
    if (&ring == t_thread.ring) {
      store_and_empty(ring);
    } else {
      store_copy_of(ring);
    }
  }
  calibrate();
  const bool nothing_new =
      g_buffer.joined_at != 0 && g_buffer.joined_at == g_buffer.file.block_bytes();
  if (nothing_new) return;
  static constinit ProcessText text;
  text.clear();
  text << "end=" << how << "\ncalls=" << g_buffer.calls
       << "\ndropped=" << g_buffer.file.header().dropped << '\n';
  g_buffer.file.add_text(BlockType::kEnd, text.c_str(), text.size());
  g_buffer.file.header().state = static_cast<std::uint32_t>(BufferState::kEnded);
}

bool buffer_exists() noexcept {
  return g_buffer.file.exists();
}
const char* buffer_path() noexcept {
  return g_buffer.file.path();
}

void visit_blocks(void (*visit)(const std::byte* blocks, std::size_t bytes, void* context),
                  void* context) noexcept {
  const SpinGuard guard(g_lock);
  g_buffer.file.visit(visit, context);
  g_buffer.visited_at = g_buffer.file.block_bytes();
  g_buffer.visited_calls = g_buffer.calls;
}

void mark_joined() noexcept {
  if (!g_buffer.file.exists()) return;
  // Another thread may have added blocks since.
  g_buffer.joined_at = g_buffer.visited_at;
  g_buffer.file.header().joined_calls = g_buffer.visited_calls;
  g_buffer.file.header().state = static_cast<std::uint32_t>(BufferState::kJoined);
}

namespace {
// Is there anything that the trace does not have?
bool anything_pending() noexcept {
  const SpinGuard guard(g_lock);
  bool pending = g_buffer.joined_at != g_buffer.file.block_bytes();
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    const Ring& ring = *g_buffer.rings[i].ring;
    const std::uint64_t word = ring.word->load(std::memory_order_acquire);
    const std::uint64_t calls = count_calls({ring.records, used_of(word)});
    pending = pending || (calls != 0 && (word != ring.stored_word || calls != ring.stored_calls));
  }
  return pending;
}
}  // namespace

void remove_if_joined() noexcept {
  if (!g_buffer.file.exists() || g_buffer.joined_at == 0 || anything_pending()) return;
  raw::unlink(g_buffer.file.path());
  // Other processes of the run may still have theirs there; the last one removes it.
  const char* const directory = run_directory();
  if (directory != nullptr) raw::call(SYS_unlinkat, raw::kAtFdcwd, raw::word(directory), 0x200);
}

void forget_buffer_after_fork() noexcept {
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    RingPlace& place = g_buffer.rings[i];
    if (place.in_file != nullptr) unmap(place.in_file, place.bytes);
    unmap(place.ring, kEarlyRingBytes + 4096);
    place = {};
  }
  const ClockReading first = read_clocks();
  g_buffer.inherited = g_buffer.inherited || g_buffer.file.exists();
  g_buffer.file.forget();
  g_buffer.ring_count = 0;
  g_buffer.threads = 0;
  g_buffer.calls = g_buffer.early_dropped = g_buffer.joined_at = 0;
  g_buffer.failed = false;
  g_buffer.first = first;
  g_lock.unlock();  // a thread of the parent may have held it
  t_thread.ring = nullptr;
}

}  // namespace iotune::recorder
