#include "recorder/events_encoder.h"

#include <cstring>

#include "patterns/tuple_loops.h"
#include "recorder/call_table.h"
#include "recorder/ring_record.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

using patterns::ByteWriter;

constexpr std::uint32_t kNone = UINT32_MAX;
// Streams repeat in longer cycles than the values of one stream.
constexpr patterns::EncodeOptions kOrderOptions{64};

constexpr std::uint8_t kSingle = 0xff;

// Times are ticks until they are written: a batch has far fewer streams than calls.
struct Stream {
  std::uint64_t hash;
  std::uint32_t first, last;  // nodes
  std::uint32_t record;       // the first, which has the stream's keys and text
  std::uint64_t calls, exact;
  bool all_exact;  // so far
  std::uint64_t first_start, last_end, sum, least, largest;
};

// A record's part in a stream: one call, or what one leaf of a repeat adds.
struct Node {
  std::uint32_t offset;  // of the record in the ring
  std::uint32_t next;    // of the same stream
  std::uint32_t stream;
  std::uint8_t leaf;  // kSingle: one call
};

// Calls that leaf `leaf` of a repeat stands for.
std::uint64_t calls_of_leaf(const RingRecord& repeat, unsigned leaf) noexcept {
  const std::uint64_t calls = repeat.repeated_calls();
  return calls / repeat.period() + (leaf < calls % repeat.period() ? 1 : 0);
}

// What of the records can be encoded: the whole ones before the end or the first damaged one.
struct Contents {
  std::size_t records = 0, nodes = 0;
  std::uint64_t calls = 0, repeated = 0;
};
Contents measure(std::span<const std::byte> records) noexcept {
  Contents found;
  RingRecord record;
  unsigned repeatable = 0;  // records in a row that a repeat may go on from
  while (record.read(records, call_count())) {
    if (record.is_repeat()) {
      if (record.period() > repeatable ||
          record.repeated_calls() > kMostRepeatedCalls - found.repeated) {
        break;
      }
      found.repeated += record.repeated_calls();
      found.nodes += record.period();
      found.calls += record.repeated_calls();
      repeatable = 0;
    } else {
      ++found.nodes;
      ++found.calls;
      repeatable = record.numbers() == 3 && record.text().empty() ? repeatable + 1 : 0;
    }
    records = records.subspan(record.size());
    ++found.records;
  }
  return found;
}

std::size_t table_slots(std::size_t records) noexcept {
  std::size_t slots = 16;
  while (slots < 2 * records) slots *= 2;
  return slots;
}

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7) & ~std::size_t{7};
}

// Streams that take turns: the body of a repeat, to which the order of calls refers.
struct Turns {
  std::uint32_t period;
  std::uint32_t streams[kMostLeaves];
};

std::size_t turns_room(std::size_t nodes) noexcept {
  return nodes / 2 + 1;
}

std::size_t own_bytes(std::size_t records, std::size_t ring_bytes) noexcept {
  return records * sizeof(Node) + 2 * records * sizeof(std::int64_t) + records * sizeof(Stream) +
         aligned(turns_room(records) * sizeof(Turns)) +
         aligned(table_slots(records) * sizeof(std::uint32_t)) + 3 * aligned(ring_bytes);
}

// The tuples of a stream: calls x numbers, or one value a tuple where patterns/ has no tuples as
// wide as that.
struct TupleShape {
  std::size_t rows;
  unsigned columns;
};
TupleShape shape_of(std::size_t calls, std::size_t numbers) noexcept {
  if (numbers > patterns::kMaxDims) return {calls * numbers, 1};
  return {calls, static_cast<unsigned>(numbers)};
}

// The order of a batch's calls as pairs: a stream alone, or turns, and a number of calls.
class Order {
 public:
  explicit Order(std::int64_t* pairs) noexcept : pairs_(pairs) {}

  void add(std::int64_t number, std::uint64_t calls) noexcept {
    if (count_ > 0 && pairs_[2 * count_ - 2] == number) {
      pairs_[2 * count_ - 1] += static_cast<std::int64_t>(calls);
      return;
    }
    pairs_[2 * count_] = number;
    pairs_[2 * count_ + 1] = static_cast<std::int64_t>(calls);
    ++count_;
  }
  std::size_t count() const noexcept { return count_; }

 private:
  std::int64_t* pairs_;
  std::size_t count_ = 0;
};

class Batch {
 public:
  Batch(const EventsRequest& request, const Contents& contents) noexcept
      : request_(request), contents_(contents) {
    std::byte* at = request.scratch.data();
    nodes_ = carve<Node>(at, contents.nodes);
    order_ = carve<std::int64_t>(at, 2 * contents.nodes);
    streams_ = carve<Stream>(at, contents.nodes);
    turns_ = carve<Turns>(at, turns_room(contents.nodes));
    slots_ = table_slots(contents.nodes);
    table_ = carve<std::uint32_t>(at, slots_);
    value_room_ = 3 * aligned(request.records.size()) / 8;
    values_ = carve<std::int64_t>(at, value_room_);
    rest_ = request.scratch.subspan(static_cast<std::size_t>(at - request.scratch.data()));
    std::memset(table_, 0xff, slots_ * sizeof *table_);
  }

  // False where the scratch or the payload is too small.
  bool write(ByteWriter& payload) noexcept {
    sort_into_streams();
    base_ = nanoseconds(base_ticks_);
    payload.varint(request_.thread);
    payload.varint(request_.epoch);
    payload.varint(contents_.calls);
    payload.varint(base_);
    payload.varint(stream_count_);
    for (std::uint32_t i = 0; i < stream_count_; ++i) {
      if (!write_stream(streams_[i], payload)) return false;
    }
    if (!write_order(payload)) return false;
    write_exact_times(payload);
    return !payload.overflowed();
  }

 private:
  template <typename T>
  static T* carve(std::byte*& at, std::size_t count) noexcept {
    T* const array = reinterpret_cast<T*>(at);
    at += aligned(count * sizeof(T));
    return array;
  }

  RingRecord record_at(std::uint32_t offset) const noexcept {
    RingRecord record;
    record.read(request_.records.subspan(offset), call_count());
    return record;
  }

  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(ticks) * request_.rate_mult) >> request_.rate_shift);
  }
  std::uint64_t since_first(std::uint64_t stamp) const noexcept {
    const std::uint64_t ticks = stamp - request_.first_ticks;
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  }
  // A counter that went back between two cores makes a duration of 2^64 - little.
  static std::uint64_t sane(std::uint64_t ticks) noexcept {
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) noexcept {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 29U);
  }
  static std::uint64_t hash_of(const RingRecord& record) noexcept {
    std::uint64_t hash = mixed(
        record.function(), (std::uint64_t{record.layers()} << 1U) | (record.control() ? 1U : 0U));
    hash = mixed(hash, (std::uint64_t{record.keys()} << 32U) | record.numbers());
    hash = mixed_bytes(hash, record.key_bytes(), std::size_t{8} * record.keys());
    return mixed_bytes(hash, record.text().data(), record.text().size());
  }
  static std::uint64_t mixed_bytes(std::uint64_t hash, const std::byte* bytes,
                                   std::size_t size) noexcept {
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

  static bool same_stream(const RingRecord& a, const RingRecord& b) noexcept {
    return a.function() == b.function() && a.layers() == b.layers() && a.control() == b.control() &&
           a.keys() == b.keys() && a.numbers() == b.numbers() &&
           a.text().size() == b.text().size() &&
           std::memcmp(a.key_bytes(), b.key_bytes(), std::size_t{8} * a.keys()) == 0 &&
           std::memcmp(a.text().data(), b.text().data(), a.text().size()) == 0;
  }

  void add_node(std::uint32_t stream_number, std::uint32_t offset, std::uint8_t leaf) noexcept {
    Stream& stream = streams_[stream_number];
    nodes_[node_count_] = {offset, kNone, stream_number, leaf};
    if (stream.first == kNone) {
      stream.first = node_count_;
    } else {
      nodes_[stream.last].next = node_count_;
    }
    stream.last = node_count_++;
  }

  std::uint32_t stream_of(const RingRecord& record, std::uint32_t offset) noexcept {
    // Calls of one kind come in runs: the stream before needs no hash to be found again.
    if (previous_stream_ != kNone && same_stream(previous_, record)) return previous_stream_;
    const std::uint64_t hash = hash_of(record);
    std::size_t slot = hash & (slots_ - 1);
    for (; table_[slot] != kNone; slot = (slot + 1) & (slots_ - 1)) {
      Stream& stream = streams_[table_[slot]];
      if (stream.hash == hash && same_stream(record_at(stream.record), record)) return table_[slot];
    }
    table_[slot] = stream_count_;
    streams_[stream_count_] =
        Stream{hash, kNone, kNone, offset, 0, 0, true, UINT64_MAX, 0, 0, UINT64_MAX, 0};
    return stream_count_++;
  }

  void sort_into_streams() noexcept {
    std::uint32_t offset = 0;
    Order order(order_);
    for (std::size_t i = 0; i < contents_.records; ++i) {
      const RingRecord record = record_at(offset);
      if (record.is_repeat()) {
        add_repeat(record, offset, order);
        previous_stream_ = kNone;
      } else {
        const std::uint32_t number = stream_of(record, offset);
        add_node(number, offset, kSingle);
        add_times(streams_[number], record);
        order.add(number, 1);
        previous_ = record;
        previous_stream_ = number;
      }
      offset += static_cast<std::uint32_t>(record.size());
    }
    order_count_ = order.count();
  }

  void add_times(Stream& stream, const RingRecord& record) noexcept {
    ++stream.calls;
    stream.all_exact = stream.all_exact && (record.exact() || request_.every_time_exact);
    if (stream.all_exact) {
      ++stream.exact;
      ++exact_;
    }
    const std::uint64_t start = since_first(record.start_ticks());
    const std::uint64_t duration = sane(record.duration_ticks());
    if (start < base_ticks_) base_ticks_ = start;
    if (start < stream.first_start) stream.first_start = start;
    if (start + duration > stream.last_end) stream.last_end = start + duration;
    stream.sum += duration;
    if (duration < stream.least) stream.least = duration;
    if (duration > stream.largest) stream.largest = duration;
  }

  void add_repeat(const RingRecord& record, std::uint32_t offset, Order& order) noexcept {
    const unsigned period = record.period();
    const std::uint64_t calls = record.repeated_calls();
    Turns turns{period, {}};
    for (unsigned i = 0; i < period; ++i) {
      // The records that it goes on from are the newest nodes of before.
      const std::uint32_t number = nodes_[node_count_ - period].stream;
      turns.streams[i] = number;
      add_node(number, offset, static_cast<std::uint8_t>(i));
      const std::uint64_t own_calls = calls_of_leaf(record, i);
      if (own_calls == 0) continue;
      Stream& stream = streams_[number];
      const RepeatLeaf leaf = record.leaf(i);
      stream.all_exact = false;
      stream.calls += own_calls;
      stream.sum += sane(leaf.sum_ticks);
      if (leaf.least_ticks < stream.least) stream.least = leaf.least_ticks;
      if (sane(leaf.largest_ticks) > stream.largest) stream.largest = leaf.largest_ticks;
      const std::uint64_t end = since_first(leaf.last_end_ticks);
      if (end > stream.last_end) stream.last_end = end;
    }
    if (calls == 0) return;
    if (period == 1) return order.add(turns.streams[0], calls);
    order.add(kFirstTurns + number_of(turns), calls);
  }

  // Among the newest; else they are spelt out once more.
  std::uint32_t number_of(const Turns& turns) noexcept {
    constexpr std::uint32_t kNewest = 64;
    const std::uint32_t oldest = turns_count_ < kNewest ? 0 : turns_count_ - kNewest;
    for (std::uint32_t i = turns_count_; i-- > oldest;) {
      if (std::memcmp(&turns_[i], &turns, sizeof turns) == 0) return i;
    }
    turns_[turns_count_] = turns;
    return turns_count_++;
  }

  bool write_stream(const Stream& stream, ByteWriter& payload) noexcept {
    const RingRecord first = record_at(stream.record);
    const std::string_view name = call_name(first.function());
    payload.varint(name.size());
    payload.raw(name.data(), name.size());
    payload.varint((first.layers() & kLayerMask) |
                   (stream.exact == stream.calls ? kEveryTimeExact : 0));
    payload.varint(first.keys());
    for (unsigned i = 0; i < first.keys(); ++i) {
      std::int64_t key;
      std::memcpy(&key, first.key_bytes() + std::size_t{8} * i, 8);
      payload.svarint(key);
    }
    payload.varint(first.text().size());
    payload.raw(first.text().data(), first.text().size());
    payload.varint(first.numbers());
    payload.varint(stream.calls);
    payload.varint(stream.exact);
    const std::uint64_t first_start = nanoseconds(stream.first_start);
    payload.varint(first_start - base_);
    payload.varint(nanoseconds(stream.last_end) - first_start);
    payload.varint(nanoseconds(stream.sum));
    payload.varint(nanoseconds(stream.least));
    payload.varint(nanoseconds(stream.largest));
    return first.numbers() == 0 ? !payload.overflowed() : write_values(stream, first, payload);
  }

  bool write_values(const Stream& stream, const RingRecord& first, ByteWriter& payload) noexcept {
    const unsigned numbers = first.numbers();
    if (runs_fit(first.keys(), numbers)) {
      const std::size_t runs = build_runs(stream, first);
      // Two numbers make a run of any sequence: only longer ones say something.
      const bool few = runs * 5 < stream.calls * 2 || stream.calls * numbers > value_room_;
      if (few) {
        payload.u8(kValuesAsRuns);
        payload.varint(runs);
        const unsigned width = 2 * numbers + 1;
        return patterns::encode_tuples({values_, runs * width}, runs, width, rest_, payload);
      }
    }
    payload.u8(kValuesAsTuples);
    std::int64_t* to = values_;
    // Records of one stream have their numbers at one place.
    const std::size_t place = kRecordHeadBytes + std::size_t{8} * first.keys();
    for (std::uint32_t i = stream.first; i != kNone; i = nodes_[i].next) {
      const Node& node = nodes_[i];
      if (node.leaf == kSingle) {
        std::memcpy(to, request_.records.data() + node.offset + place, std::size_t{8} * numbers);
        to += numbers;
        continue;
      }
      const RingRecord repeat = record_at(node.offset);
      const RepeatLeaf leaf = repeat.leaf(node.leaf);
      for (std::uint64_t k = calls_of_leaf(repeat, node.leaf); k > 0; --k, to += numbers) {
        for (unsigned d = 0; d < numbers; ++d) to[d] = sum(*(to + d - numbers), leaf.stride[d]);
      }
    }
    const TupleShape shape = shape_of(stream.calls, numbers);
    return patterns::encode_tuples({values_, to}, shape.rows, shape.columns, rest_, payload);
  }

  static std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  std::size_t build_runs(const Stream& stream, const RingRecord& first) noexcept {
    const unsigned numbers = first.numbers();
    const std::size_t place = kRecordHeadBytes + std::size_t{8} * first.keys();
    RunBuilder builder(values_, numbers);
    std::int64_t last[16] = {};
    for (std::uint32_t i = stream.first; i != kNone; i = nodes_[i].next) {
      const Node& node = nodes_[i];
      if (node.leaf == kSingle) {
        std::memcpy(last, request_.records.data() + node.offset + place, std::size_t{8} * numbers);
        builder.add(last, last, 1);
        continue;
      }
      const RingRecord repeat = record_at(node.offset);
      const std::uint64_t calls = calls_of_leaf(repeat, node.leaf);
      if (calls == 0) continue;
      const RepeatLeaf leaf = repeat.leaf(node.leaf);
      for (unsigned d = 0; d < numbers; ++d) last[d] = sum(last[d], leaf.stride[d]);
      builder.add(last, leaf.stride, calls);
      for (unsigned d = 0; d < numbers; ++d) {
        const std::uint64_t moved = static_cast<std::uint64_t>(leaf.stride[d]) * (calls - 1);
        last[d] = sum(last[d], static_cast<std::int64_t>(moved));
      }
    }
    return builder.runs();
  }

  bool write_order(ByteWriter& payload) noexcept {
    payload.varint(turns_count_);
    for (std::uint32_t i = 0; i < turns_count_; ++i) {
      payload.varint(turns_[i].period);
      for (unsigned k = 0; k < turns_[i].period; ++k) payload.varint(turns_[i].streams[k]);
    }
    for (std::size_t i = 0; i < order_count_; ++i) {
      // Numbers of turns follow those of streams, which were not all known.
      if (order_[2 * i] >= kFirstTurns) order_[2 * i] += stream_count_ - kFirstTurns;
    }
    payload.varint(order_count_);
    return patterns::encode_tuples({order_, 2 * order_count_}, order_count_, 2, rest_, payload,
                                   kOrderOptions);
  }

  // A stream's exact calls are its first ones.
  void write_exact_times(ByteWriter& payload) noexcept {
    payload.varint(exact_);
    std::uint64_t previous = base_;
    for (std::uint32_t i = 0; exact_ > 0; ++i) {
      const Node& node = nodes_[i];
      Stream& stream = streams_[node.stream];
      if (node.leaf != kSingle || stream.exact == 0) continue;
      --stream.exact;
      --exact_;
      const RingRecord record = record_at(node.offset);
      const std::uint64_t start = nanoseconds(since_first(record.start_ticks()));
      payload.svarint(static_cast<std::int64_t>(start - previous));
      payload.varint(nanoseconds(sane(record.duration_ticks())));
      previous = start;
    }
  }

  static constexpr std::int64_t kFirstTurns = std::int64_t{1} << 40;

  const EventsRequest& request_;
  const Contents contents_;
  std::uint32_t stream_count_ = 0, node_count_ = 0, turns_count_ = 0;
  std::uint32_t previous_stream_ = kNone;
  std::uint64_t base_ticks_ = UINT64_MAX, base_ = 0, exact_ = 0;
  RingRecord previous_;
  Node* nodes_;
  std::int64_t* order_;
  std::size_t order_count_ = 0;
  Stream* streams_;
  std::size_t slots_;
  std::uint32_t* table_;
  std::int64_t* values_;
  std::size_t value_room_;
  std::span<std::byte> rest_;
  Turns* turns_;
};

}  // namespace

std::size_t scratch_bytes_needed(std::size_t ring_bytes) noexcept {
  const std::size_t records = ring_bytes / kRecordHeadBytes;
  // No sequence of tuples is longer: a tuple takes a word at least. (Scratch for tuples does not
  // depend on their width.)
  const std::size_t tuples = patterns::scratch_bytes(ring_bytes / 8 + 16, 1);
  return own_bytes(records, ring_bytes) + tuples + 64;
}

std::size_t events_bytes_at_most(std::size_t ring_bytes) noexcept {
  // A record: head of its stream (name, 14 varints), values, order and time of its own. Each
  // word of keys or numbers takes ten bytes at most, each byte of text one.
  constexpr std::size_t kStreamHead = 64 + 14 * patterns::kMaxVarintBytes;
  constexpr std::size_t kPerRecord = kStreamHead + 1 + 3 * patterns::kMaxVarintBytes;
  return 64 + (ring_bytes / kRecordHeadBytes) * kPerRecord + (ring_bytes / 8) * 10;
}

std::size_t count_calls(std::span<const std::byte> records) noexcept {
  return measure(records).calls;
}

bool encode_events(const EventsRequest& request, ByteWriter& payload) noexcept {
  const Contents contents = measure(request.records);
  if (contents.calls == 0 ||
      request.scratch.size() < scratch_bytes_needed(request.records.size()) ||
      reinterpret_cast<std::uintptr_t>(request.scratch.data()) % 8 != 0) {
    return false;
  }
  const ByteWriter::Mark start = payload.mark();
  if (!Batch(request, contents).write(payload)) {
    payload.rewind(start);
    return false;
  }
  if (request.calls != nullptr) *request.calls = contents.calls;
  return true;
}

}  // namespace iotune::recorder
