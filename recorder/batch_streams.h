// The records of a ring sorted into streams: calls of one function, with equal keys and texts, in
// the order in which they were made. Part of the preload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/ring_record.h"

namespace iotune::recorder {

inline constexpr std::uint32_t kNoNode = UINT32_MAX;
inline constexpr std::uint8_t kNoLeaf = 0xff, kListLeaf = 0xfe;

// A part of a stream: records of one size, one behind the other, or the calls of a list, or what
// one leaf of a repeat adds.
struct BatchNode {
  std::uint32_t offset;  // of the first record in the ring
  std::uint32_t next;    // node of the same stream
  std::uint32_t stream;
  std::uint32_t records;  // 1 of a repeat; calls of a list
  std::uint8_t leaf;      // kNoLeaf: records; kListLeaf: a list
};

// Times are in ticks: a batch has far fewer streams than calls.
struct BatchStream {
  std::uint64_t hash;
  std::uint32_t first, last;  // nodes
  std::uint32_t record;       // the first, which has the stream's keys and text
  std::uint64_t calls, exact;
  bool all_exact;  // so far
  bool has_repeats;
  std::uint64_t first_start, last_end, sum, least, largest;
};

// Streams that take turns: the body of a repeat, to which the order of calls refers.
struct BatchTurns {
  std::uint32_t period;
  std::uint32_t streams[kMostLeaves];
};

// Calls that leaf `leaf` of a repeat represents.
inline std::uint64_t calls_of_leaf(const RingRecord& repeat, unsigned leaf) noexcept {
  const std::uint64_t calls = repeat.repeated_calls();
  return calls / repeat.period() + (leaf < calls % repeat.period() ? 1 : 0);
}

class BatchStreams {
 public:
  // Of memory for so many bytes of records.
  static std::size_t scratch_bytes(std::size_t ring_bytes) noexcept;

  // Sorts the whole records before the end or the first damaged one. Stamps before `first_ticks`
  // count as it. Scratch: scratch_bytes(), aligned to 8; it must outlive the streams.
  BatchStreams(std::span<const std::byte> records, std::uint64_t first_ticks, bool every_time_exact,
               std::span<std::byte> scratch) noexcept;

  std::uint64_t calls() const noexcept { return calls_; }
  // Up to the first damaged record.
  std::size_t sorted_bytes() const noexcept { return sorted_bytes_; }
  std::uint64_t exact_calls() const noexcept { return exact_; }
  std::uint64_t least_start() const noexcept { return least_start_; }
  std::uint32_t count() const noexcept { return stream_count_; }
  BatchStream& stream(std::uint32_t index) noexcept { return streams_[index]; }
  // The nodes of all streams, in the order of their calls.
  const BatchNode& node(std::uint32_t index) const noexcept { return nodes_[index]; }
  std::uint32_t turns_count() const noexcept { return turns_count_; }
  const BatchTurns& turns(std::uint32_t index) const noexcept { return turns_[index]; }

  // The order of calls as pairs: a stream, or count() + the index of turns; and a number of calls.
  std::span<const std::int64_t> order_pairs() noexcept;

  RingRecord record_at(std::uint32_t offset) const noexcept;
  const std::byte* bytes_at(std::uint32_t offset) const noexcept {
    return records_.data() + offset;
  }
  std::uint64_t since_first(std::uint64_t stamp) const noexcept {
    const std::uint64_t ticks = stamp - first_ticks_;
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  }
  // A counter that went back between two cores makes a duration of 2^64 - little.
  static std::uint64_t sane(std::uint64_t ticks) noexcept {
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  }

 private:
  static constexpr std::int64_t kFirstTurns = std::int64_t{1} << 40;

  void sort() noexcept;
  std::uint32_t stream_of(const RingRecord& record, std::uint32_t offset) noexcept;
  void add_node(std::uint32_t stream, std::uint32_t offset, std::uint32_t records,
                std::uint8_t leaf) noexcept;
  std::uint32_t add_calls(const RingRecord& first, std::uint32_t offset) noexcept;
  void add_times(BatchStream& stream, const RingRecord& record) noexcept;
  template <typename Counted>
  void add_times(BatchStream& stream, std::uint64_t calls, const Counted& counted) const noexcept;
  bool may_repeat(const RingRecord& record) noexcept;
  void add_repeat(const RingRecord& record, std::uint32_t offset) noexcept;
  void add_list(const RingRecord& record, std::uint32_t offset) noexcept;
  void add_order(std::int64_t number, std::uint64_t calls) noexcept;
  std::uint32_t number_of(const BatchTurns& turns) noexcept;

  std::span<const std::byte> records_;
  std::uint64_t first_ticks_;
  bool every_time_exact_;
  std::size_t sorted_bytes_ = 0;
  std::uint64_t calls_ = 0, repeated_ = 0, exact_ = 0, least_start_ = UINT64_MAX;
  std::uint32_t stream_count_ = 0, node_count_ = 0, turns_count_ = 0, order_count_ = 0;
  std::uint32_t repeatable_ = 0;            // records in a row that a repeat may go on from
  std::uint32_t newest_[kMostLeaves] = {};  // streams of the last records, the newest at 0
  BatchNode* nodes_;
  std::int64_t* order_;
  BatchStream* streams_;
  BatchTurns* turns_;
  std::size_t slots_;
  std::uint32_t* table_;
};

}  // namespace iotune::recorder
