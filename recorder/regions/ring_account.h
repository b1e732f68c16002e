// What the calls in a ring moved and how long they took, read out of the ring afterwards: a call
// that is recorded pays nothing for being counted. Calls that were counted in place (a repeat, a
// list) are read as far as they are, and from there on the next time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/ring_record.h"

namespace iotune::recorder {

struct Ring;  // recorder/ring/process_buffer.h

// Of outermost calls: those that no other recorded call made.
struct IoTotals {
  std::uint64_t calls = 0, ticks = 0, read_bytes = 0, written_bytes = 0;
  // Of these bytes, what went through the file that stdout was when the program began; and what
  // calls inside other recorded calls moved, such as HDF5's own.
  std::uint64_t stdout_bytes = 0, inner_bytes = 0;

  void add(const IoTotals& other) noexcept {
    calls += other.calls;
    ticks += other.ticks;
    read_bytes += other.read_bytes;
    written_bytes += other.written_bytes;
    stdout_bytes += other.stdout_bytes;
    inner_bytes += other.inner_bytes;
  }
};

// Of one ring, used by the thread that owns the ring, or by the thread that empties it.
class RingAccount {
 public:
  // The memory of a ring, or a copy of it, and the ring's word.
  struct Records {
    const std::byte* bytes;
    std::size_t capacity;
    std::uint64_t word;
  };
  // Adds what came into the ring since the last time.
  void take(const Records& ring, IoTotals& to) noexcept;
  void take(const Ring& ring, IoTotals& to) noexcept;
  // The ring is empty now, or another thread's.
  void restart() noexcept { *this = {}; }

 private:
  // Records that a repeat may follow.
  static constexpr unsigned kRecent = kMostLeaves;

  void take_record(const RingRecord& record, IoTotals& to) const noexcept;
  bool take_repeat(const Records& ring, const RingRecord& repeat, IoTotals& to) noexcept;
  bool take_list(const Records& ring, const RingRecord& list, std::size_t at,
                 IoTotals& to) noexcept;
  bool read_recent(const Records& ring, unsigned back, RingRecord& record) const noexcept;
  void go_past(std::size_t bytes) noexcept;

  std::uint32_t epoch_ = 0;
  std::size_t at_ = 0;  // of the first entry that is not read to its end
  // Of that entry, where it is a repeat or a list: what is read already.
  std::uint64_t calls_ = 0, ticks_[kMostLeaves] = {};
  std::uint32_t recent_[kRecent] = {};  // places of the last records, cyclic
  unsigned records_ = 0;                // read so far
  std::int64_t listed_before_ = 0;      // bytes of the call before a list
};

}  // namespace iotune::recorder
