#include "recorder/ring/ring_pool.h"

#include <cstring>

#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/process/configuration.h"
#include "core/process/fork_marker.h"
#include "core/process/thread_state.h"
#include "recorder/regions/regions.h"
#include "recorder/ring/ring_store.h"

namespace iotune::recorder {
namespace {

// Calls of a thread whose times are kept one by one, by Times. Below an HDF5 call there are many.
constexpr std::uint16_t kExactCalls[kTimesKinds] = {0, 256, 128, 32, 64, 32};

// In front of an early ring's records: what describes the ring, and in a cache line of its own the
// ring's word.
constexpr std::size_t kDescriptionBytes = 8192, kWordPlace = kDescriptionBytes - 64;

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
  ring.mark_bytes = 0;
  std::memcpy(ring.exact_left, kExactCalls, sizeof kExactCalls);
  ring.cursor.emptied();
  forget_regions(ring.regions);
}

Ring* make_ring(long thread) noexcept {
  if (g_buffer.ring_count == kMaxRings) return nullptr;
  // The ring's description lives in front of the early ring's memory.
  static_assert(sizeof(Ring) <= kWordPlace);
  auto* const memory = static_cast<std::byte*>(private_memory(kEarlyRingBytes + kDescriptionBytes));
  if (memory == nullptr) return nullptr;
  wipe_on_fork(memory, kEarlyRingBytes + kDescriptionBytes);
  auto* const ring = reinterpret_cast<Ring*>(memory);
  ring->word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory + kWordPlace);
  ring->records = memory + kDescriptionBytes;
  ring->capacity_bytes = kEarlyRingBytes;
  ring->in_file = false;
  give_to(*ring, thread);
  g_ring_places[g_buffer.ring_count++] = {.ring = ring};
  return ring;
}

// The ring of a thread that has ended, its records stored; nullptr where there is none.
Ring* take_over_ring(long thread) noexcept {
#ifdef __SANITIZE_THREAD__
  // That a thread has ended is the kernel's word, and orders what it wrote before what the next
  // owner does; ThreadSanitizer knows of no such order and would report it.
  return nullptr;
#endif
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    RingPlace& place = g_ring_places[i];
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

}  // namespace

void move_into_file(RingPlace& place) noexcept {
  static_assert(kEarlyRingBytes <= kSmallRingBytes - kRingHeadBytes - kRingMarksBytes);
  Ring& ring = *place.ring;
  const bool many = &place - g_ring_places >= kLargeRings;
  const std::size_t bytes = many ? kSmallRingBytes : kRingBytes;
  std::byte* const memory = g_buffer.file.add_ring(ring.thread, bytes, place.segment);
  if (memory == nullptr) {
    store_and_empty(ring);
    return;
  }
  constexpr std::size_t kBeforeRecords = kRingHeadBytes + kRingMarksBytes;
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  std::memcpy(memory + kBeforeRecords, ring.records, used_of(word));
  ring.word = reinterpret_cast<std::atomic<std::uint64_t>*>(memory);
  ring.records = memory + kBeforeRecords;
  ring.capacity_bytes = bytes - kBeforeRecords;
  ring.marks = reinterpret_cast<RingMarks*>(memory + 8);
  ring.cursor.keep_marks(ring.marks, g_buffer.first.ticks);
  ring.word->store(word, std::memory_order_release);
  ring.in_file = true;
  place.in_file = memory;
  place.bytes = bytes;
}

RingPlace& place_of(const Ring& ring) noexcept {
  std::uint32_t i = 0;
  while (g_ring_places[i].ring != &ring) ++i;
  return g_ring_places[i];
}

void remember_regions(const Ring& ring, RegionTable* regions) noexcept {
  place_of(ring).regions = regions;
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

void forget_rings() noexcept {
  for (std::uint32_t i = 0; i < g_buffer.ring_count; ++i) {
    RingPlace& place = g_ring_places[i];
    if (place.in_file != nullptr) unmap(place.in_file, place.bytes);
    unmap(place.ring, kEarlyRingBytes + kDescriptionBytes);
    free_regions(place.regions);
    place = {};
  }
  g_buffer.ring_count = 0;
  g_buffer.threads = 0;
}

}  // namespace iotune::recorder
