#include "recorder/events_encoder.h"

#include <cstring>

#include "patterns/tuple_loops.h"
#include "recorder/batch_streams.h"
#include "recorder/call_table.h"
#include "recorder/call_times.h"
#include "recorder/order_prediction.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

using patterns::ByteWriter;

// Streams repeat in longer cycles than the values of one stream.
constexpr patterns::EncodeOptions kOrderOptions{64};

// Words for the values of one stream at a time. The most is made of a list, where each run of seven
// words means two calls or more, of one word each; of RepeatCursor's calls no more than four
// in five are listed.
constexpr std::size_t value_words(std::size_t ring_bytes) noexcept {
  return 3 * (ring_bytes / 8 + 1);
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

std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Writes the payload of one batch (FORMAT.md, "EVENTS").
class BatchWriter {
 public:
  explicit BatchWriter(const EventsRequest& request) noexcept
      : request_(request),
        values_(reinterpret_cast<std::int64_t*>(request.scratch.data())),
        value_room_(value_words(request.records.size())),
        rest_(request.scratch.subspan(value_room_ * 8)),
        batch_(request.records, request.first_ticks, request.every_time_exact, rest_) {
    rest_ = rest_.subspan(BatchStreams::scratch_bytes(request.records.size()));
  }

  std::uint64_t calls() const noexcept { return batch_.calls(); }
  std::size_t whole_bytes() const noexcept { return batch_.sorted_bytes(); }

  // False where the scratch or the payload is too small.
  bool write(ByteWriter& payload) noexcept {
    base_ = nanoseconds(batch_.least_start());
    payload.varint(request_.thread);
    payload.varint(request_.epoch);
    payload.varint(batch_.calls());
    payload.varint(base_);
    payload.varint(batch_.count());
    for (std::uint32_t i = 0; i < batch_.count(); ++i) {
      if (!write_stream(batch_.stream(i), payload)) return false;
    }
    if (!write_order(payload)) return false;
    write_exact_times(payload);
    return !payload.overflowed();
  }

 private:
  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(ticks) * request_.rate_mult) >> request_.rate_shift);
  }

  bool write_stream(const BatchStream& stream, ByteWriter& payload) noexcept {
    const RingRecord first = batch_.record_at(stream.record);
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

  bool write_values(const BatchStream& stream, const RingRecord& first,
                    ByteWriter& payload) noexcept {
    const unsigned numbers = first.numbers();
    if (stream.has_repeats) {
      const std::size_t runs = build_runs(stream, first);
      // Two numbers make a run of any sequence: only longer ones say something.
      if (runs * 5 < stream.calls * 2 || stream.calls * numbers > value_room_) {
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
    for (std::uint32_t i = stream.first; i != kNoNode; i = batch_.node(i).next) {
      const BatchNode& node = batch_.node(i);
      if (node.leaf == kNoLeaf || node.leaf == kListLeaf) {
        const NumbersOf from = numbers_of(node, first, place);
        const std::byte* at = from.begin;
        if (from.count == 1 && numbers == 3) {
          // In registers: what a row takes from the one before would wait for it to be written.
          const std::int64_t a = to[-3], b = to[-2], c = to[-1];
          for (std::uint32_t k = 0; k < node.records; ++k, at += 8, to += 3) {
            to[0] = a;
            to[1] = b;
            to[2] = c;
            std::memcpy(to + from.first, at, 8);
          }
          continue;
        }
        for (std::uint32_t k = 0; k < node.records; ++k, at += from.step, to += numbers) {
          for (unsigned d = 0; d < numbers; ++d) std::memcpy(to + d, at + std::size_t{8} * d, 8);
        }
        continue;
      }
      const RingRecord repeat = batch_.record_at(node.offset);
      std::int64_t stride[kMostRepeatedWords];
      std::memcpy(stride, repeat.strides(node.leaf), std::size_t{8} * numbers);
      for (std::uint64_t k = calls_of_leaf(repeat, node.leaf); k > 0; --k, to += numbers) {
        for (unsigned d = 0; d < numbers; ++d) to[d] = sum(*(to + d - numbers), stride[d]);
      }
    }
    const TupleShape shape = shape_of(stream.calls, numbers);
    return patterns::encode_tuples({values_, to}, shape.rows, shape.columns, rest_, payload);
  }

  // The numbers of a node's calls: `count` of each, from its number `first` on; the others are as
  // in the stream's call before.
  struct NumbersOf {
    const std::byte* begin;
    std::size_t step;
    unsigned first, count;
  };
  // Of records like `record`, whose numbers stand behind `place` bytes, or of a list.
  NumbersOf numbers_of(const BatchNode& node, const RingRecord& record,
                       std::size_t place) const noexcept {
    const std::byte* const at = batch_.bytes_at(node.offset);
    if (node.leaf != kListLeaf) return {at + place, record.size(), 0, record.numbers()};
    const unsigned listed = batch_.record_at(node.offset).listed();
    const std::byte* const calls = at + kListHeadBytes;
    if (listed == 0) return {calls, list_call_bytes(0), 0, 3};
    return {calls, list_call_bytes(listed), listed - 1, 1};
  }

  std::size_t build_runs(const BatchStream& stream, const RingRecord& first) noexcept {
    const unsigned numbers = first.numbers();
    const std::size_t place = kRecordHeadBytes + std::size_t{8} * first.keys();
    RunBuilder builder(values_, numbers);
    std::int64_t last[kMostRepeatedWords] = {};
    for (std::uint32_t i = stream.first; i != kNoNode; i = batch_.node(i).next) {
      const BatchNode& node = batch_.node(i);
      if (node.leaf == kNoLeaf || node.leaf == kListLeaf) {
        const NumbersOf from = numbers_of(node, first, place);
        const std::byte* at = from.begin;
        for (std::uint32_t k = 0; k < node.records; ++k, at += from.step) {
          std::memcpy(last + from.first, at, std::size_t{8} * from.count);
          builder.add(last, last, 1);
        }
        continue;
      }
      const RingRecord repeat = batch_.record_at(node.offset);
      const std::uint64_t calls = calls_of_leaf(repeat, node.leaf);
      if (calls == 0) continue;
      std::int64_t stride[kMostRepeatedWords];
      std::memcpy(stride, repeat.strides(node.leaf), std::size_t{8} * numbers);
      for (unsigned d = 0; d < numbers; ++d) last[d] = sum(last[d], stride[d]);
      builder.add(last, stride, calls);
      for (unsigned d = 0; d < numbers; ++d) {
        const std::uint64_t moved = static_cast<std::uint64_t>(stride[d]) * (calls - 1);
        last[d] = sum(last[d], static_cast<std::int64_t>(moved));
      }
    }
    return builder.runs();
  }

  bool write_order(ByteWriter& payload) noexcept {
    const std::span<const std::int64_t> pairs = batch_.order_pairs();
    payload.varint(batch_.turns_count());
    for (std::uint32_t i = 0; i < batch_.turns_count(); ++i) {
      const BatchTurns& turns = batch_.turns(i);
      payload.varint(turns.period);
      for (unsigned k = 0; k < turns.period; ++k) payload.varint(turns.streams[k]);
    }
    payload.varint(pairs.size() / 2);
    payload.u8(kOrderAsSurprises);
    auto* const predictor = reinterpret_cast<OrderPredictor*>(rest_.data());
    predictor->reset(batch_.count());
    std::int64_t* to = values_;
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const OrderPair pair{static_cast<std::uint64_t>(pairs[i]),
                           static_cast<std::uint64_t>(pairs[i + 1])};
      const bool surprises = predictor->expected() != pair;
      predictor->take(pair);
      ++expected;
      if (!surprises) continue;
      to[0] = expected - 1;
      to[1] = pairs[i];
      to[2] = pairs[i + 1];
      to += 3;
      expected = 0;
    }
    const auto surprises = static_cast<std::size_t>(to - values_) / 3;
    payload.varint(surprises);
    return patterns::encode_tuples({values_, to}, surprises, 3, rest_, payload, kOrderOptions);
  }

  // A stream's exact calls are its first ones.
  void write_exact_times(ByteWriter& payload) noexcept {
    std::uint64_t left = batch_.exact_calls();
    payload.varint(left);
    if (left == 0) return;
    payload.u8(request_.coded_times ? kTimesCoded : kTimesExact);
    auto* const models = reinterpret_cast<TimeModels*>(rest_.data());
    if (request_.coded_times) models->reset();
    patterns::RangeEncoder coder(payload);
    std::int64_t previous_point = 0;
    std::uint64_t previous = base_;
    for (std::uint32_t i = 0; left > 0; ++i) {
      const BatchNode& node = batch_.node(i);
      BatchStream& stream = batch_.stream(node.stream);
      if (node.leaf != kNoLeaf || stream.exact == 0) continue;
      std::uint32_t offset = node.offset;
      for (std::uint32_t k = 0; k < node.records; ++k) {
        const RingRecord record = batch_.record_at(offset);
        const std::uint64_t start = nanoseconds(batch_.since_first(record.start_ticks()));
        const std::uint64_t duration = nanoseconds(BatchStreams::sane(record.duration_ticks()));
        if (request_.coded_times) {
          const std::int64_t point = start_point(start - base_);
          models->encode(coder, node.stream, point - previous_point, duration);
          previous_point = point;
        } else {
          payload.svarint(static_cast<std::int64_t>(start - previous));
          payload.varint(duration);
          previous = start;
        }
        offset += static_cast<std::uint32_t>(record.size());
      }
      stream.exact -= node.records;
      left -= node.records;
    }
    if (request_.coded_times) coder.end();
  }

  const EventsRequest& request_;
  std::int64_t* values_;
  std::size_t value_room_;
  std::span<std::byte> rest_;
  BatchStreams batch_;
  std::uint64_t base_ = 0;
};

}  // namespace

std::size_t scratch_bytes_needed(std::size_t ring_bytes) noexcept {
  // No sequence of tuples is longer: a tuple takes a word at least. (Scratch for tuples does not
  // depend on their width.) A run has two words for a number's one, and one more.
  return value_words(ring_bytes) * 8 + BatchStreams::scratch_bytes(ring_bytes) +
         patterns::scratch_bytes(ring_bytes / 8 + 16, 1) + sizeof(TimeModels) +
         sizeof(OrderPredictor) + 64;
}

std::size_t events_bytes_at_most(std::size_t ring_bytes) noexcept {
  // A record: head of its stream (name, 14 varints), values, order and time of its own. Each
  // word of keys or numbers takes ten bytes at most, and two more where a list leaves out numbers
  // that stay; a stride of a repeat becomes a first number and a stride; each byte of text one.
  constexpr std::size_t kStreamHead = 64 + 14 * patterns::kMaxVarintBytes;
  constexpr std::size_t kPerRecord = kStreamHead + 1 + 3 * patterns::kMaxVarintBytes;
  return 64 + (ring_bytes / kRecordHeadBytes) * kPerRecord + (ring_bytes / 8) * 22;
}

std::uint64_t count_calls(std::span<const std::byte> records) noexcept {
  RingRecord record;
  std::uint64_t calls = 0;
  while (record.read(records, call_count())) {
    calls += record.is_repeat() ? record.repeated_calls()
             : record.is_list() ? record.list_calls()
                                : 1;
    records = records.subspan(record.size());
  }
  return calls;
}

bool encode_events(const EventsRequest& request, ByteWriter& payload) noexcept {
  if (request.scratch.size() < scratch_bytes_needed(request.records.size()) ||
      reinterpret_cast<std::uintptr_t>(request.scratch.data()) % 8 != 0) {
    return false;
  }
  BatchWriter batch(request);
  const ByteWriter::Mark start = payload.mark();
  if (request.whole_bytes != nullptr) *request.whole_bytes = batch.whole_bytes();
  if (batch.calls() == 0 || !batch.write(payload)) {
    payload.rewind(start);
    return false;
  }
  if (request.calls != nullptr) *request.calls = batch.calls();
  return true;
}

}  // namespace iotune::recorder
