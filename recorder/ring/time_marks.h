// Marks of time in a ring (FORMAT.md, "MARKS"): the process's time is cut into at most 64 bins of
// one width, which doubles when they are full, and of each bin the first call that ended in it is
// marked. Calls of a thread stand in the order of their ends, so that the marks tell the bin of
// every call, and with it the bytes of any file and direction in each bin. Part of the preload.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"
#include "recorder/call_table.h"
#include "recorder/events_encoder.h"
#include "recorder/ring_record.h"

namespace iotune::recorder {

inline constexpr unsigned kMostMarks = 64;
// Bins are 2^shift ticks wide: at first some 2 ms. Narrower ones would show what the system's
// scheduler did, and cost a short run's trace more than all else in it.
inline constexpr unsigned kLeastBinShift = 22;
// What buffers of earlier builds have.
inline constexpr unsigned kLeastReadBinShift = 16;
// Within a bin times are kept in so many steps.
inline constexpr std::uint64_t kBinSteps = 256;

struct TimeMark {
  std::uint64_t start_ticks, end_ticks;
  std::uint64_t
      place;  // bytes of the ring in use before the call | calls of the repeat there << 32
};
inline constexpr std::uint64_t kWholeRepeat = UINT32_MAX;

// In a ring's segment, behind the ring's word.
struct RingMarks {
  std::uint64_t word;  // epoch << 32 | shift << 8 | marks; of another epoch than the ring: none
  std::uint64_t zero[6];
  TimeMark mark[kMostMarks];
};
static_assert(sizeof(RingMarks) == kRingHeadBytes + kRingMarksBytes - 8);

constexpr unsigned marks_in(std::uint64_t word) noexcept {
  const unsigned count = word & 0xff;
  return count < kMostMarks ? count : kMostMarks;
}
constexpr unsigned bin_shift_in(std::uint64_t word) noexcept {
  return word >> 8 & 0x3f;
}

// The least width of which 64 bins reach as far as `since_first`, in ticks.
constexpr unsigned bin_shift_at(std::uint64_t since_first) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(since_first));
  constexpr unsigned kBinBits = 6;
  static_assert(1U << kBinBits == kMostMarks);
  return bits > kLeastBinShift + kBinBits ? bits - kBinBits : kLeastBinShift;
}

// The number of the call in the ring that a mark stands at.
class MarkedCalls {
 public:
  explicit MarkedCalls(std::span<const std::byte> records) noexcept : left_(records) {}

  // Of a mark behind those that were asked for before.
  std::uint64_t before(const TimeMark& mark) noexcept {
    const std::uint64_t used = mark.place & UINT32_MAX, of_repeat = mark.place >> 32;
    RingRecord record;
    while (offset_ < used && record.read(left_, call_count())) {
      const std::uint64_t calls = calls_of(record);
      const std::uint64_t end = offset_ + record.size();
      // The last record before the mark may have grown since.
      if (record.is_repeat() && end == used) {
        return calls_ + (of_repeat == kWholeRepeat || of_repeat > calls ? calls : of_repeat);
      }
      if (record.is_list() && end >= used) {
        const std::uint64_t listed =
            used - offset_ < kListHeadBytes
                ? 0
                : (used - offset_ - kListHeadBytes) / list_call_bytes(record.listed());
        return calls_ + listed;
      }
      calls_ += calls;
      offset_ = end;
      left_ = left_.subspan(record.size());
    }
    return calls_;
  }

 private:
  static std::uint64_t calls_of(const RingRecord& record) noexcept {
    return record.is_repeat() ? record.repeated_calls()
           : record.is_list() ? record.list_calls()
                              : 1;
  }
  std::span<const std::byte> left_;
  std::uint64_t offset_ = 0, calls_ = 0;
};

// Room for every payload that encode_marks() writes.
inline constexpr std::size_t kMostMarksBytes = (5 + 4 * kMostMarks) * patterns::kMaxVarintBytes;

// Appends the payload of the MARKS block that goes with the EVENTS block of `request`, which holds
// `calls` calls; its scratch is used. False, with nothing written, where no mark stands at one of
// these: a thread that writes meanwhile may leave any.
inline bool encode_marks(const EventsRequest& request, std::span<const TimeMark> marks,
                         unsigned shift, std::uint64_t calls,
                         patterns::ByteWriter& payload) noexcept {
  const auto nanoseconds = [&request](std::uint64_t ticks) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ticks) * request.rate_mult) >>
                                      request.rate_shift);
  };
  const auto since_first = [&request](std::uint64_t stamp) {
    const std::uint64_t ticks = stamp - request.first_ticks;
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  };
  struct Found {
    std::uint64_t call, bin, end, duration;  // end: from the bin's begin, in steps
  };
  if (request.scratch.size() < kMostMarks * sizeof(Found)) return false;
  auto* const found = reinterpret_cast<Found*>(request.scratch.data());
  unsigned count = 0;
  MarkedCalls numbers(request.records);
  const unsigned step_shift = shift - 8;
  static_assert(kBinSteps == 1U << 8U);
  std::uint64_t place = 0;
  for (const TimeMark& mark : marks.first(marks.size() < kMostMarks ? marks.size() : kMostMarks)) {
    if (count > 0 && (mark.place & UINT32_MAX) < place) continue;
    place = mark.place & UINT32_MAX;
    const std::uint64_t end = since_first(mark.end_ticks), bin = end >> shift;
    const std::uint64_t call = numbers.before(mark);
    if (call >= calls) break;
    if (count > 0 && (call <= found[count - 1].call || bin <= found[count - 1].bin)) continue;
    const std::uint64_t start = since_first(mark.start_ticks);
    found[count++] = {call, bin, (end - (bin << shift)) >> step_shift,
                      nanoseconds(end > start ? end - start : 0)};
  }
  if (count == 0) return false;
  payload.varint(request.thread);
  payload.varint(request.epoch);
  payload.varint(calls);
  payload.varint(nanoseconds(std::uint64_t{1} << shift));
  payload.varint(count);
  std::uint64_t call = 0, bin = 0;
  for (unsigned i = 0; i < count; ++i) {
    payload.varint(found[i].call - call);
    payload.varint(found[i].bin - bin);
    payload.varint(found[i].end);
    payload.varint(found[i].duration);
    call = found[i].call;
    bin = found[i].bin;
  }
  return !payload.overflowed();
}

}  // namespace iotune::recorder
