#include "recorder/events_encoder.h"

#include <cstring>

#include "patterns/tuple_loops.h"
#include "recorder/call_table.h"
#include "recorder/ring_record.h"

namespace iotune::recorder {
namespace {

using patterns::ByteWriter;

constexpr std::uint32_t kNone = UINT32_MAX;
// Streams repeat in longer cycles than the values of one stream.
constexpr patterns::EncodeOptions kOrderOptions{64};

// Times are ticks until they are written: a batch has far fewer streams than calls.
struct Stream {
  std::uint64_t hash;
  std::uint32_t first, last;  // records
  std::uint32_t calls, exact;
  std::uint64_t first_start, last_end, sum, least, largest;
};

std::size_t table_slots(std::size_t records) noexcept {
  std::size_t slots = 16;
  while (slots < 2 * records) slots *= 2;
  return slots;
}

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7) & ~std::size_t{7};
}

std::size_t own_bytes(std::size_t records, std::size_t ring_bytes) noexcept {
  return aligned(records * sizeof(std::uint32_t)) * 2 + records * sizeof(std::int64_t) +
         records * sizeof(Stream) + aligned(table_slots(records) * sizeof(std::uint32_t)) +
         aligned(ring_bytes);
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

class Batch {
 public:
  Batch(const EventsRequest& request, std::size_t records) noexcept
      : request_(request), count_(static_cast<std::uint32_t>(records)) {
    std::byte* at = request.scratch.data();
    offset_ = carve<std::uint32_t>(at, records);
    next_ = carve<std::uint32_t>(at, records);
    order_ = carve<std::int64_t>(at, records);
    streams_ = carve<Stream>(at, records);
    slots_ = table_slots(records);
    table_ = carve<std::uint32_t>(at, slots_);
    values_ = carve<std::int64_t>(at, (request.records.size() + 7) / 8);
    rest_ = request.scratch.subspan(static_cast<std::size_t>(at - request.scratch.data()));
    std::memset(table_, 0xff, slots_ * sizeof *table_);
    budget_ = request.exact_budget == nullptr ? 0 : *request.exact_budget;
  }

  // False where the scratch or the payload is too small.
  bool write(ByteWriter& payload) noexcept {
    sort_into_streams();
    base_ = nanoseconds(base_ticks_);
    payload.varint(request_.thread);
    payload.varint(request_.epoch);
    payload.varint(count_);
    payload.varint(base_);
    payload.varint(stream_count_);
    for (std::uint32_t i = 0; i < stream_count_; ++i) {
      if (!write_stream(streams_[i], payload)) return false;
    }
    if (!patterns::encode_tuples({order_, count_}, count_, 1, rest_, payload, kOrderOptions)) {
      return false;
    }
    write_exact_times(payload);
    return !payload.overflowed();
  }
  std::uint32_t budget_left() const noexcept { return budget_; }

 private:
  template <typename T>
  static T* carve(std::byte*& at, std::size_t count) noexcept {
    T* const array = reinterpret_cast<T*>(at);
    at += aligned(count * sizeof(T));
    return array;
  }

  RingRecord record(std::uint32_t index) const noexcept {
    RingRecord record;
    record.read(request_.records.subspan(offset_[index]), call_count());
    return record;
  }

  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(ticks) * request_.rate_mult) >> request_.rate_shift);
  }
  std::uint64_t start_ticks_of(const RingRecord& record) const noexcept {
    const std::uint64_t ticks = record.start_ticks() - request_.first_ticks;
    return ticks > UINT64_MAX / 2 ? 0 : ticks;
  }
  // A counter that went back between two cores makes a duration of 2^64 - little.
  static std::uint64_t duration_ticks_of(const RingRecord& record) noexcept {
    const std::uint64_t ticks = record.duration_ticks();
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

  Stream& join(std::uint32_t number, std::uint32_t index) noexcept {
    Stream& stream = streams_[number];
    next_[stream.last] = index;
    stream.last = index;
    order_[index] = number;
    return stream;
  }

  Stream& stream_of(const RingRecord& record, std::uint32_t index) noexcept {
    // Calls of one kind come in runs: the stream before needs no hash to be found again.
    if (index > 0) {
      const auto number = static_cast<std::uint32_t>(order_[index - 1]);
      if (same_stream(previous_, record)) return join(number, index);
    }
    const std::uint64_t hash = hash_of(record);
    std::size_t slot = hash & (slots_ - 1);
    while (table_[slot] != kNone) {
      Stream& stream = streams_[table_[slot]];
      if (stream.hash == hash && same_stream(this->record(stream.first), record)) {
        return join(table_[slot], index);
      }
      slot = (slot + 1) & (slots_ - 1);
    }
    table_[slot] = stream_count_;
    order_[index] = stream_count_;
    Stream& stream = streams_[stream_count_++];
    stream = Stream{hash, index, index, 0, 0, UINT64_MAX, 0, 0, UINT64_MAX, 0};
    return stream;
  }

  void sort_into_streams() noexcept {
    std::size_t offset = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      offset_[i] = static_cast<std::uint32_t>(offset);
      next_[i] = kNone;
      const RingRecord record = this->record(i);
      offset += record.size();
      Stream& stream = stream_of(record, i);
      previous_ = record;
      ++stream.calls;
      if (record.control() || request_.every_time_exact || budget_ > 0) {
        if (!record.control() && !request_.every_time_exact) --budget_;
        ++stream.exact;
        ++exact_;
      }
      const std::uint64_t start = start_ticks_of(record);
      const std::uint64_t duration = duration_ticks_of(record);
      if (start < base_ticks_) base_ticks_ = start;
      if (start < stream.first_start) stream.first_start = start;
      if (start + duration > stream.last_end) stream.last_end = start + duration;
      stream.sum += duration;
      if (duration < stream.least) stream.least = duration;
      if (duration > stream.largest) stream.largest = duration;
    }
  }

  bool write_stream(const Stream& stream, ByteWriter& payload) noexcept {
    const RingRecord first = record(stream.first);
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
    if (first.numbers() == 0) return !payload.overflowed();
    std::int64_t* to = values_;
    // Records of one stream have their numbers at one place.
    const std::size_t place = kRecordHeadBytes + std::size_t{8} * first.keys();
    const std::byte* const records = request_.records.data() + place;
    for (std::uint32_t i = stream.first; i != kNone; i = next_[i]) {
      for (unsigned d = 0; d < first.numbers(); ++d) {
        std::memcpy(to++, records + offset_[i] + std::size_t{8} * d, 8);
      }
    }
    const TupleShape shape = shape_of(stream.calls, first.numbers());
    return patterns::encode_tuples({values_, to}, shape.rows, shape.columns, rest_, payload);
  }

  // A stream's exact calls are its first ones: the budget ends once for all streams, and
  // control calls have streams of their own.
  void write_exact_times(ByteWriter& payload) noexcept {
    payload.varint(exact_);
    std::uint64_t previous = base_;
    for (std::uint32_t i = 0; exact_ > 0; ++i) {
      Stream& stream = streams_[order_[i]];
      if (stream.exact == 0) continue;
      --stream.exact;
      --exact_;
      const RingRecord record = this->record(i);
      const std::uint64_t start = nanoseconds(start_ticks_of(record));
      payload.svarint(static_cast<std::int64_t>(start - previous));
      payload.varint(nanoseconds(duration_ticks_of(record)));
      previous = start;
    }
  }

  const EventsRequest& request_;
  std::uint32_t count_, stream_count_ = 0, budget_ = 0;
  std::uint64_t base_ticks_ = UINT64_MAX, base_ = 0, exact_ = 0;
  RingRecord previous_;
  std::uint32_t* offset_;
  std::uint32_t* next_;
  std::int64_t* order_;
  Stream* streams_;
  std::size_t slots_;
  std::uint32_t* table_;
  std::int64_t* values_;
  std::span<std::byte> rest_;
};

}  // namespace

std::size_t scratch_bytes_needed(std::size_t ring_bytes) noexcept {
  const std::size_t records = ring_bytes / kRecordHeadBytes;
  std::size_t tuples = patterns::scratch_bytes(records, 1);
  const std::size_t wide = patterns::scratch_bytes(ring_bytes / 8, 1);
  // One value a tuple only where a call has more than kMaxDims of them: nothing but numbers.
  if (ring_bytes / 8 > patterns::kMaxDims && wide > tuples) tuples = wide;
  for (unsigned d = 1; d <= patterns::kMaxDims; ++d) {
    const std::size_t bytes =
        patterns::scratch_bytes(ring_bytes / (kRecordHeadBytes + std::size_t{8} * d), d);
    if (bytes > tuples) tuples = bytes;
  }
  return own_bytes(records, ring_bytes) + tuples + 64;
}

std::size_t events_bytes_at_most(std::size_t ring_bytes) noexcept {
  // A record: head of its stream (name, 14 varints), values, order and time of its own. Each
  // word of keys or numbers takes ten bytes at most, each byte of text one.
  constexpr std::size_t kStreamHead = 64 + 14 * patterns::kMaxVarintBytes;
  constexpr std::size_t kPerRecord = kStreamHead + 1 + 3 * patterns::kMaxVarintBytes;
  return 64 + (ring_bytes / kRecordHeadBytes) * kPerRecord + (ring_bytes / 8) * 10;
}

std::size_t count_records(std::span<const std::byte> records) noexcept {
  std::size_t count = 0;
  RingRecord record;
  while (record.read(records, call_count())) {
    records = records.subspan(record.size());
    ++count;
  }
  return count;
}

bool encode_events(const EventsRequest& request, ByteWriter& payload) noexcept {
  const std::size_t records = count_records(request.records);
  if (records == 0 || request.scratch.size() < scratch_bytes_needed(request.records.size()) ||
      reinterpret_cast<std::uintptr_t>(request.scratch.data()) % 8 != 0) {
    return false;
  }
  const ByteWriter::Mark start = payload.mark();
  Batch batch(request, records);
  if (!batch.write(payload)) {
    payload.rewind(start);
    return false;
  }
  if (request.exact_budget != nullptr) *request.exact_budget = batch.budget_left();
  if (request.calls != nullptr) *request.calls = records;
  return true;
}

}  // namespace iotune::recorder
