// What the parts of the process buffer share: the file, the rings of all threads, the lock.
// process_buffer.h is what the rest of the preload sees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/os/sleep_lock.h"
#include "core/os/ticks.h"
#include "core/process/process_events.h"
#include "recorder/ring/buffer_file.h"
#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

// A ring and where its records lie. Not in the ring itself, which a fork wipes.
struct RingPlace {
  Ring* ring = nullptr;
  std::byte* in_file = nullptr;  // nullptr: not yet
  std::size_t bytes = 0;
  std::uint32_t segment = 0;
  RegionTable* regions = nullptr;
};

struct Buffer {
  BufferFile file;
  std::uint32_t ring_count = 0;
  std::uint32_t threads = 0;
  std::uint32_t refused = 0;     // threads' calls that found no ring
  std::byte* scratch = nullptr;  // for the encoder, then a copy of a ring
  std::size_t scratch_bytes = 0;
  std::size_t last_events_bytes = 0;  // payload of the block before
  ClockReading first = {};
  TickRate rate = {};
  std::uint64_t calls = 0;
  std::uint64_t early_dropped = 0;
  std::uint64_t held_at = 0;     // bytes of all blocks when they were held last
  std::uint64_t held_calls = 0;  // and the calls in these
  std::uint64_t joined_at = 0;   // of these, what stands in a trace; 0: never
  bool failed = false;
  bool inherited = false;   // descriptors are traced whose files this process has not named yet
  bool at_once = false;     // and its parent, which forked it, had a buffer
  bool from_start = false;  // some stood in the table before the program began
  IoTotals moved = {};      // by what was stored
};
extern Buffer g_buffer;
// Of these, ring_count. Beside it, because zeros take no room in the library.
extern RingPlace g_ring_places[kMaxRings];
// Taken by the thread that encodes a ring or adds a segment.
extern ProcessLock g_buffer_lock;

// Takes the rate of the ticks anew. The lock is held.
void calibrate() noexcept;

// Of a ring's word.
inline std::uint32_t used_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word);
}
inline std::uint32_t epoch_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}

}  // namespace iotune::recorder
