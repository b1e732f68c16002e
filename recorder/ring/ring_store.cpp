#include "recorder/ring/ring_store.h"

#include <cstring>
#include <initializer_list>

#include "core/os/mapped_file.h"
#include "core/process/configuration.h"
#include "patterns/bytes.h"
#include "recorder/events_encoder.h"
#include "recorder/regions/regions.h"
#include "recorder/ring/buffer_state.h"
#include "recorder/ring/time_marks.h"

namespace iotune::recorder {
namespace {

std::uint64_t emptied(std::uint64_t word) noexcept {
  return static_cast<std::uint64_t>(epoch_of(word) + 1) << 32;
}

// A ring's marks as they were at a moment.
struct MarksCopy {
  void take(const Ring& ring, std::uint64_t ring_word) noexcept {
    count = 0;
    if (ring.marks == nullptr) return;
    const std::uint64_t word = __atomic_load_n(&ring.marks->word, __ATOMIC_ACQUIRE);
    if (epoch_of(word) != epoch_of(ring_word)) return;
    shift = bin_shift_in(word);
    count = marks_in(word);
    for (unsigned i = 0; i < count; ++i) {
      const TimeMark& from = ring.marks->mark[i];
      mark[i] = {__atomic_load_n(&from.start_ticks, __ATOMIC_RELAXED),
                 __atomic_load_n(&from.end_ticks, __ATOMIC_RELAXED),
                 __atomic_load_n(&from.place, __ATOMIC_RELAXED)};
    }
  }
  unsigned count = 0, shift = 0;
  TimeMark mark[kMostMarks] = {};
};
// Not on a stack: a signal handler's may be small.
constinit MarksCopy g_marks;

// In a block of their own, behind the one of the calls. Where there is no room times are
// interpolated.
void store_marks(const EventsRequest& request, std::uint64_t calls) noexcept {
  if (g_marks.count == 0) return;
  std::size_t capacity = 0;
  std::byte* const room = g_buffer.file.room_for(kMostMarksBytes, capacity);
  if (room == nullptr) return;
  patterns::ByteWriter payload({room, capacity});
  if (!encode_marks(request, {g_marks.mark, g_marks.count}, g_marks.shift, calls, payload)) return;
  g_buffer.file.publish(BlockType::kMarks, payload.bytes_used());
}

// Writes the records as an EVENTS block, and the marks in g_marks as one behind it. `calls`: how
// many they are. False: no room.
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
    // Most batches cost a few hundred bytes, or as much as the one before; the others hardly more
    // than their records. Only then room for the worst case.
    const std::size_t as_before =
        g_buffer.last_events_bytes + g_buffer.last_events_bytes / 8 + 4096;
    for (const std::size_t wanted : {as_before, std::size_t{used}, events_bytes_at_most(used)}) {
      std::size_t capacity = 0;
      std::byte* const room = g_buffer.file.room_for(wanted, capacity);
      if (room == nullptr) break;
      patterns::ByteWriter payload({room, capacity});
      if (encode_events(request, payload)) {
        g_buffer.last_events_bytes = payload.bytes_used();
        g_buffer.file.publish(BlockType::kEvents, payload.bytes_used());
        store_marks(request, calls);
        return true;
      }
    }
  }
  calls = count_calls(request.records);
  return false;
}

}  // namespace

bool have_scratch() noexcept {
  if (g_buffer.scratch != nullptr) return true;
  g_buffer.scratch_bytes = scratch_bytes_needed(kRingBytes);
  g_buffer.scratch = static_cast<std::byte*>(shared_memory(g_buffer.scratch_bytes + kRingBytes));
  return g_buffer.scratch != nullptr;
}

void drop_scratch() noexcept {
  if (g_buffer.scratch == nullptr) return;
  unmap(g_buffer.scratch, g_buffer.scratch_bytes + kRingBytes);
  g_buffer.scratch = nullptr;
}

void store_copy_of(Ring& ring) noexcept {
  if (!have_scratch()) return;
  const std::uint64_t word = ring.word->load(std::memory_order_acquire);
  g_marks.take(ring, word);
  std::byte* const copy = g_buffer.scratch + g_buffer.scratch_bytes;
  for (std::size_t at = 0; at < used_of(word); at += 8) {
    const std::uint64_t value = __atomic_load_n(
        reinterpret_cast<const std::uint64_t*>(ring.records + at), __ATOMIC_RELAXED);
    std::memcpy(copy + at, &value, 8);
  }
  ring.account.take({copy, used_of(word), word}, g_buffer.moved);
  const std::uint64_t counted = count_calls({copy, used_of(word)});
  if (counted == 0 || (word == ring.stored_word && counted == ring.stored_calls)) return;
  std::uint64_t calls = 0;
  if (!store_records(copy, word, ring.thread, calls)) return;  // its owner may have more luck
  g_buffer.calls += calls - ring.stored_calls;
  ring.stored_word = word;
  ring.stored_calls = calls;
}

bool store_and_empty(Ring& ring) noexcept {
  const std::uint64_t word = ring.word->load(std::memory_order_relaxed);
  if (used_of(word) == 0) return true;
  account_before_emptying(ring);
  ring.account.take(ring, g_buffer.moved);
  std::uint64_t calls = 0;
  g_marks.take(ring, word);
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

}  // namespace iotune::recorder
