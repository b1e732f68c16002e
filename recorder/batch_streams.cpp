#include "recorder/batch_streams.h"

#include <cstring>

#include "recorder/call_table.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7) & ~std::size_t{7};
}

// Every node takes a record's head of the ring at least.
constexpr std::size_t most_nodes(std::size_t ring_bytes) noexcept {
  return ring_bytes / kRecordHeadBytes + 1;
}
constexpr std::size_t most_turns(std::size_t ring_bytes) noexcept {
  return most_nodes(ring_bytes) / 2 + 1;
}
std::size_t table_slots(std::size_t ring_bytes) noexcept {
  std::size_t slots = 16;
  while (slots < 2 * most_nodes(ring_bytes)) slots *= 2;
  return slots;
}

template <typename T>
T* carve(std::byte*& at, std::size_t count) noexcept {
  T* const array = reinterpret_cast<T*>(at);
  at += aligned(count * sizeof(T));
  return array;
}

// Most records have few words: no call of memcmp for these.
bool same_words(const std::byte* a, const std::byte* b, std::size_t words) noexcept {
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t x, y;
    std::memcpy(&x, a + 8 * i, 8);
    std::memcpy(&y, b + 8 * i, 8);
    different |= x ^ y;
  }
  return different == 0;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}
std::uint64_t mixed_bytes(std::uint64_t hash, const std::byte* bytes, std::size_t size) noexcept {
  hash = mixed(hash, size);
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = mixed(hash, word);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return mixed(hash, word);
}

std::uint64_t hash_of(const RingRecord& record) noexcept {
  std::uint64_t hash = mixed(record.function(),
                             (std::uint64_t{record.layers()} << 1U) | (record.control() ? 1U : 0U));
  hash = mixed(hash, (std::uint64_t{record.keys()} << 32U) | record.numbers());
  hash = mixed_bytes(hash, record.key_bytes(), std::size_t{8} * record.keys());
  return mixed_bytes(hash, record.text().data(), record.text().size());
}

bool same_stream(const RingRecord& a, const RingRecord& b) noexcept {
  return a.function() == b.function() && a.layers() == b.layers() && a.control() == b.control() &&
         a.keys() == b.keys() && a.numbers() == b.numbers() && a.text().size() == b.text().size() &&
         same_words(a.key_bytes(), b.key_bytes(), a.keys()) &&
         (a.text().empty() || std::memcmp(a.text().data(), b.text().data(), a.text().size()) == 0);
}

}  // namespace

std::size_t BatchStreams::scratch_bytes(std::size_t ring_bytes) noexcept {
  const std::size_t nodes = most_nodes(ring_bytes);
  return aligned(nodes * sizeof(BatchNode)) + 2 * nodes * sizeof(std::int64_t) +
         aligned(nodes * sizeof(BatchStream)) +
         aligned(most_turns(ring_bytes) * sizeof(BatchTurns)) +
         aligned(table_slots(ring_bytes) * sizeof(std::uint32_t));
}

BatchStreams::BatchStreams(std::span<const std::byte> records, std::uint64_t first_ticks,
                           bool every_time_exact, std::span<std::byte> scratch) noexcept
    : records_(records), first_ticks_(first_ticks), every_time_exact_(every_time_exact) {
  std::byte* at = scratch.data();
  const std::size_t nodes = most_nodes(records.size());
  nodes_ = carve<BatchNode>(at, nodes);
  order_ = carve<std::int64_t>(at, 2 * nodes);
  streams_ = carve<BatchStream>(at, nodes);
  turns_ = carve<BatchTurns>(at, most_turns(records.size()));
  slots_ = table_slots(records.size());
  table_ = carve<std::uint32_t>(at, slots_);
  std::memset(table_, 0xff, slots_ * sizeof *table_);
  sort();
}

RingRecord BatchStreams::record_at(std::uint32_t offset) const noexcept {
  RingRecord record;
  record.read(records_.subspan(offset), call_count());
  return record;
}

void BatchStreams::sort() noexcept {
  const std::size_t functions = call_count();
  std::uint32_t offset = 0;
  RingRecord record;
  while (record.read(records_.subspan(offset), functions)) {
    if (record.is_list()) {
      // Three numbers are listed, or one of three.
      if (repeatable_ == 0 || record_at(streams_[newest_[0]].record).numbers() != 3) break;
      add_list(record, offset);
      offset += static_cast<std::uint32_t>(record.size());
      continue;
    }
    if (!record.is_repeat()) {
      offset = add_calls(record, offset);
      continue;
    }
    if (!may_repeat(record)) break;
    add_repeat(record, offset);
    repeatable_ = 0;
    offset += static_cast<std::uint32_t>(record.size());
  }
  sorted_bytes_ = offset;
}

// The record and those behind it that have the same head, keys and text but for their times.
// Returns the offset behind them.
std::uint32_t BatchStreams::add_calls(const RingRecord& first, std::uint32_t offset) noexcept {
  const std::uint32_t number = stream_of(first, offset);
  BatchStream& stream = streams_[number];
  const std::size_t keys = first.keys();
  const auto size = static_cast<std::uint32_t>(first.size());
  const bool plain = first.text().empty();
  const std::byte* const head = bytes_at(offset);
  std::uint32_t records = 0;
  std::uint32_t at = offset;
  RingRecord record = first;
  for (;;) {
    add_times(stream, record);
    ++records;
    at += size;
    // Words 0 and 3 hold the size, the function, the marks and the lengths.
    if (!plain || records_.size() - at < size || !same_words(head, bytes_at(at), 1) ||
        !same_words(head + 24, bytes_at(at) + 24, 1 + keys)) {
      break;
    }
    record.move_to(bytes_at(at));
  }
  calls_ += records;
  stream.calls += records;
  if (stream.all_exact && (every_time_exact_ || first.exact())) {
    stream.exact += records;
    exact_ += records;
  } else {
    stream.all_exact = false;
  }
  add_node(number, offset, records, kNoLeaf);
  add_order(number, records);
  if (!plain || first.control() || keys + first.numbers() > kMostRepeatedWords) {
    repeatable_ = 0;
  } else {
    for (std::uint32_t i = 0; i < records && i < kMostLeaves; ++i) {
      for (unsigned k = kMostLeaves - 1; k > 0; --k) newest_[k] = newest_[k - 1];
      newest_[0] = number;
    }
    repeatable_ += records;
  }
  return at;
}

void BatchStreams::add_times(BatchStream& stream, const RingRecord& record) noexcept {
  const std::uint64_t start = since_first(record.start_ticks());
  const std::uint64_t duration = sane(record.duration_ticks());
  if (start < least_start_) least_start_ = start;
  if (start < stream.first_start) stream.first_start = start;
  if (start + duration > stream.last_end) stream.last_end = start + duration;
  stream.sum += duration;
  if (duration < stream.least) stream.least = duration;
  if (duration > stream.largest) stream.largest = duration;
}

std::uint32_t BatchStreams::stream_of(const RingRecord& record, std::uint32_t offset) noexcept {
  const std::uint64_t hash = hash_of(record);
  std::size_t slot = hash & (slots_ - 1);
  for (; table_[slot] != kNoNode; slot = (slot + 1) & (slots_ - 1)) {
    const BatchStream& stream = streams_[table_[slot]];
    if (stream.hash == hash && same_stream(record_at(stream.record), record)) return table_[slot];
  }
  table_[slot] = stream_count_;
  BatchStream& stream = streams_[stream_count_];
  stream = {};
  stream.hash = hash;
  stream.first = kNoNode;
  stream.record = offset;
  stream.all_exact = true;
  stream.first_start = stream.least = UINT64_MAX;
  return stream_count_++;
}

void BatchStreams::add_node(std::uint32_t number, std::uint32_t offset, std::uint32_t records,
                            std::uint8_t leaf) noexcept {
  BatchStream& stream = streams_[number];
  nodes_[node_count_] = {offset, kNoNode, number, records, leaf};
  if (stream.first == kNoNode) {
    stream.first = node_count_;
  } else {
    nodes_[stream.last].next = node_count_;
  }
  stream.last = node_count_++;
}

// `counted`: a leaf of a repeat or a list, whose calls have their times in sums alone.
template <typename Counted>
void BatchStreams::add_times(BatchStream& stream, std::uint64_t calls,
                             const Counted& counted) const noexcept {
  stream.all_exact = false;
  stream.calls += calls;
  stream.sum += sane(counted.sum_ticks);
  if (counted.least_ticks < stream.least) stream.least = counted.least_ticks;
  if (sane(counted.largest_ticks) > stream.largest) stream.largest = sane(counted.largest_ticks);
  const std::uint64_t end = since_first(counted.last_end_ticks);
  if (end > stream.last_end) stream.last_end = end;
}

// Whether the repeat goes on from the newest records, and leaves the batch within its bounds. Adds
// to what is repeated.
bool BatchStreams::may_repeat(const RingRecord& record) noexcept {
  const unsigned period = record.period();
  constexpr std::uint64_t kMost = kMostRepeated + kMostRepeatedWords;
  if (period > repeatable_ || record.repeated_calls() > kMost) return false;
  std::uint64_t cost = 0;
  for (unsigned i = 0; i < period; ++i) {
    const std::uint64_t numbers = record.leaf(i).numbers;
    if (record_at(streams_[newest_[period - 1 - i]].record).numbers() != numbers) return false;
    cost += calls_of_leaf(record, i) * static_cast<std::uint64_t>(cost_of_repeated(numbers));
  }
  if (cost > kMost - repeated_) return false;
  repeated_ += cost;
  return true;
}

void BatchStreams::add_repeat(const RingRecord& record, std::uint32_t offset) noexcept {
  const unsigned period = record.period();
  const std::uint64_t calls = record.repeated_calls();
  calls_ += calls;
  BatchTurns turns{period, {}};
  for (unsigned i = 0; i < period; ++i) {
    const std::uint32_t number = newest_[period - 1 - i];
    turns.streams[i] = number;
    add_node(number, offset, 1, static_cast<std::uint8_t>(i));
    const std::uint64_t own_calls = calls_of_leaf(record, i);
    if (own_calls == 0) continue;
    streams_[number].has_repeats = true;
    add_times(streams_[number], own_calls, record.leaf(i));
  }
  if (calls == 0) return;
  add_order(period == 1 ? turns.streams[0] : kFirstTurns + number_of(turns), calls);
}

void BatchStreams::add_list(const RingRecord& record, std::uint32_t offset) noexcept {
  const std::uint32_t calls = record.list_calls();
  if (calls == 0) return;
  const std::uint32_t number = newest_[0];
  calls_ += calls;
  add_times(streams_[number], calls, record.list());
  add_node(number, offset, calls, kListLeaf);
  add_order(number, calls);
  // A repeat may go on from its last call.
  repeatable_ = 1;
}

void BatchStreams::add_order(std::int64_t number, std::uint64_t calls) noexcept {
  std::int64_t* const pair = order_ + 2 * std::size_t{order_count_};
  if (order_count_ > 0 && pair[-2] == number) {
    pair[-1] += static_cast<std::int64_t>(calls);
    return;
  }
  pair[0] = number;
  pair[1] = static_cast<std::int64_t>(calls);
  ++order_count_;
}

// Among the newest; else they are listed once more.
std::uint32_t BatchStreams::number_of(const BatchTurns& turns) noexcept {
  constexpr std::uint32_t kNewest = 64;
  const std::uint32_t oldest = turns_count_ < kNewest ? 0 : turns_count_ - kNewest;
  for (std::uint32_t i = turns_count_; i-- > oldest;) {
    if (std::memcmp(&turns_[i], &turns, sizeof turns) == 0) return i;
  }
  turns_[turns_count_] = turns;
  return turns_count_++;
}

std::span<const std::int64_t> BatchStreams::order_pairs() noexcept {
  // Numbers of turns follow those of streams, which were not all known before.
  for (std::size_t i = 0; i < order_count_; ++i) {
    if (order_[2 * i] >= kFirstTurns) order_[2 * i] += stream_count_ - kFirstTurns;
  }
  return {order_, 2 * std::size_t{order_count_}};
}

}  // namespace iotune::recorder
