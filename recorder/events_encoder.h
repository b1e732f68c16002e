// A ring's records as the payload of an EVENTS block (FORMAT.md). Part of the preload: takes
// no memory but the caller's, keeps nothing, never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"

namespace iotune::recorder {

struct EventsRequest {
  // Whole records in the order in which they were committed. Must not change meanwhile.
  std::span<const std::byte> records;
  // Nanoseconds = (ticks - first_ticks) * rate_mult >> rate_shift; stamps before first_ticks
  // count as 0.
  std::uint64_t first_ticks = 0;
  std::uint64_t rate_mult = 1;
  unsigned rate_shift = 0;
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;
  // Calls that are marked exact have times of their own; here all that have a record.
  bool every_time_exact = false;
  // Their times in coded form: little room, a tolerance (call_times.h).
  bool coded_times = false;
  // Where not nullptr: receives the number of calls written.
  std::uint64_t* calls = nullptr;
  // Where not nullptr: receives how far the records are whole.
  std::size_t* whole_bytes = nullptr;
  // At least scratch_bytes_needed(records.size()), aligned to 8.
  std::span<std::byte> scratch;
};

// Monotone: what is needed for a full ring is enough for each of its batches.
std::size_t scratch_bytes_needed(std::size_t ring_bytes) noexcept;

// No payload of that many bytes of records is longer.
std::size_t events_bytes_at_most(std::size_t ring_bytes) noexcept;

// Calls of the records before the end or the first that is not one.
std::uint64_t count_calls(std::span<const std::byte> records) noexcept;

// Appends the payload to `payload`, without block head and padding. Records behind the first
// damaged one are left out. False, with `payload` as it was, where there is no call or not enough
// room in payload or scratch.
bool encode_events(const EventsRequest& request, patterns::ByteWriter& payload) noexcept;

}  // namespace iotune::recorder
