#include "recorder/read/trace_blocks/events_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "patterns/bytes.h"
#include "patterns/tuple_loops.h"
#include "recorder/call_times.h"
#include "recorder/format.h"
#include "recorder/order_prediction.h"
#include "recorder/read/trace_blocks/marks_decoder.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

// What no ring of a plausible size holds: loops may claim millions of calls in a few bytes.
constexpr std::uint64_t kMaxCalls = 1U << 21U;
constexpr std::uint64_t kMaxValues = 1U << 23U;

// What is tried to be read as runs before it is read as tuples.
constexpr std::uint64_t kMostRunsOfTuples = 256;

struct Times {
  std::uint64_t calls, exact, first_start, last_end, sum, least, largest;
  bool every_time_exact;
  // While the calls are put in order:
  std::uint64_t seen = 0, exact_sum = 0, previous_start = 0;
};

// `texts` may have been those of another stream: what they have room for is used again.
void split_texts(std::string_view text, const CallSignature* signature,
                 std::vector<std::string>& texts) {
  std::size_t expected = 0;
  if (signature != nullptr) {
    expected = signature->texts.size();
    for (const ArgumentSignature& argument : signature->arguments) {
      if (argument.form == ArgumentForm::kText) ++expected;
    }
  }
  const auto found = text.empty() ? 0 : 1 + std::count(text.begin(), text.end(), '\0');
  texts.resize(std::max(expected, static_cast<std::size_t>(found)));
  for (std::string& one : texts) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

class Decoder {
 public:
  Decoder(std::span<const std::byte> payload, std::span<const std::byte> marks,
          std::vector<Call>& calls, CallStreams& streams, CallStreams* spare = nullptr)
      : in_(payload),
        marks_(marks),
        calls_(calls),
        streams_(streams),
        spare_(spare),
        first_call_(calls.size()) {}

  // Nothing is asked where `suffice` is empty.
  bool run(const TotalsSuffice& suffice, std::vector<StreamTotals>* totals) {
    if (!read_streams()) return false;
    const auto read = own_streams();
    if (suffice && std::all_of(read.begin(), read.end(),
                               [&](const auto& stream) { return suffice(*stream); })) {
      return take_totals(read, *totals);
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (!runs_[i].empty()) expand(runs_[i], static_cast<unsigned>(width_[i]), *read[i]);
    }
    std::vector<std::vector<std::uint32_t>> turns;
    std::vector<OrderPair> pairs;
    return read_order(turns, pairs) && put_in_order() && read_exact_times() &&
           in_.bytes_left() == 0;
  }

  bool run_patterns(BatchPatterns& batch) {
    return read_streams() && read_pairs_and_turns(batch.turns, batch.order) &&
           is_all(batch.turns, batch.order) && take_totals(own_streams(), batch.streams);
  }

 private:
  std::span<std::unique_ptr<CallStream>> own_streams() {
    return std::span(streams_).subspan(streams_.size() - times_.size());
  }

  bool read_streams() {
    thread_ = static_cast<std::uint32_t>(in_.varint());
    in_.varint();  // epoch
    count_ = in_.varint();
    base_ = in_.varint();
    const std::uint64_t streams = in_.varint();
    if (in_.failed() || count_ == 0 || count_ > kMaxCalls || streams == 0 || streams > count_) {
      return false;
    }
    for (std::uint64_t i = 0; i < streams; ++i) {
      if (!read_stream()) return false;
    }
    return true;
  }

  std::string_view read_text(std::uint64_t size) {
    const std::span<const std::byte> bytes =
        in_.take(size > in_.bytes_left() ? in_.bytes_left() + 1 : size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::unique_ptr<CallStream> new_stream() {
    if (spare_ == nullptr || spare_->empty()) return std::make_unique<CallStream>();
    std::unique_ptr<CallStream> stream = std::move(spare_->back());
    spare_->pop_back();
    stream->keys.clear();
    stream->numbers.clear();
    return stream;
  }

  bool read_stream() {
    std::unique_ptr<CallStream> stream = new_stream();
    stream->name = read_text(in_.varint());
    stream->signature = find_call(stream->name);
    const std::uint64_t flags = in_.varint();
    stream->layers = static_cast<std::uint8_t>(flags & kLayerMask);
    const std::uint64_t keys = in_.varint();
    for (std::uint64_t i = 0; i < keys && !in_.failed(); ++i) stream->keys.push_back(in_.svarint());
    split_texts(read_text(in_.varint()), stream->signature, stream->texts);
    const std::uint64_t numbers = in_.varint();
    Times times{};
    times.calls = in_.varint();
    times.exact = in_.varint();
    times.every_time_exact = (flags & kEveryTimeExact) != 0;
    if (times.every_time_exact) times.exact = times.calls;
    times.first_start = base_ + in_.varint();
    times.last_end = times.first_start + in_.varint();
    times.sum = in_.varint();
    times.least = in_.varint();
    times.largest = in_.varint();
    if (in_.failed() || times.calls == 0 || times.calls > count_ || times.exact > times.calls ||
        numbers > kMaxValues || numbers * times.calls > kMaxValues - values_) {
      return false;
    }
    values_ += numbers * times.calls;
    std::vector<std::int64_t>& runs = runs_.emplace_back();
    if (numbers > 0 &&
        !read_values(static_cast<unsigned>(numbers), times.calls, stream->numbers, runs)) {
      return false;
    }
    times_.push_back(times);
    width_.push_back(static_cast<std::size_t>(numbers));
    streams_.push_back(std::move(stream));
    return true;
  }

  // Runs stay what they are for now.
  bool read_values(unsigned numbers, std::uint64_t calls, std::vector<std::int64_t>& values,
                   std::vector<std::int64_t>& read) {
    const std::uint8_t form = in_.u8();
    if (form == kValuesAsTuples) {
      const bool wide = numbers > patterns::kMaxDims;
      if (!wide && 2 * numbers < patterns::kMaxDims) {
        read.resize(std::min(most_runs(calls), kMostRunsOfTuples) * (2 * numbers + 1));
        read.resize(patterns::decode_tuple_runs(in_, calls, numbers, read) * (2 * numbers + 1));
        if (!read.empty()) return true;
      }
      values.resize(numbers * calls);
      return patterns::decode_tuples(in_, wide ? values.size() : calls, wide ? 1 : numbers, values);
    }
    const std::uint64_t runs = in_.varint();
    const unsigned width = 2 * numbers + 1;
    if (form != kValuesAsRuns || in_.failed() || runs > calls || width > patterns::kMaxDims) {
      return false;
    }
    read.resize(runs * width);
    if (!patterns::decode_tuples(in_, runs, width, read)) return false;
    std::uint64_t left = calls;
    for (std::size_t at = 0; at < read.size(); at += width) {
      const auto repeats = static_cast<std::uint64_t>(read[at]);
      if (repeats == 0 || repeats > left) return false;
      left -= repeats;
    }
    return left == 0;
  }

  static void expand(const std::vector<std::int64_t>& runs, unsigned numbers, CallStream& stream) {
    const std::size_t width = 2 * std::size_t{numbers} + 1;
    std::uint64_t calls = 0;
    for (std::size_t at = 0; at < runs.size(); at += width) {
      calls += static_cast<std::uint64_t>(runs[at]);
    }
    stream.numbers.resize(numbers * calls);
    std::size_t to = 0;
    for (std::size_t at = 0; at < runs.size(); at += width) {
      const auto repeats = static_cast<std::uint64_t>(runs[at]);
      for (std::uint64_t k = 0; k < repeats; ++k) {
        for (unsigned d = 0; d < numbers; ++d) {
          const auto first = static_cast<std::uint64_t>(runs[at + 1 + d]);
          const auto stride = static_cast<std::uint64_t>(runs[at + 1 + numbers + d]);
          stream.numbers[to++] = static_cast<std::int64_t>(first + k * stride);
        }
      }
    }
  }

  bool take_totals(std::span<std::unique_ptr<CallStream>> read, std::vector<StreamTotals>& totals) {
    std::uint64_t calls = 0;
    for (const Times& times : times_) calls += times.calls;
    if (calls != count_) return false;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Times& times = times_[i];
      if (runs_[i].empty()) {
        runs_[i] = runs_of(read[i]->numbers, width_[i], times.calls);
        if (!runs_[i].empty()) read[i]->numbers = {};
      }
      totals.push_back({std::move(read[i]), width_[i], times.calls, times.first_start,
                        times.last_end, times.sum, std::move(runs_[i])});
    }
    streams_.resize(streams_.size() - read.size());
    return true;
  }

  bool read_pairs_and_turns(std::vector<std::vector<std::uint32_t>>& turns,
                            std::vector<OrderPair>& pairs) {
    turns.resize(read_count());
    for (std::vector<std::uint32_t>& streams : turns) {
      streams.resize(read_count());
      for (std::uint32_t& stream : streams) {
        const std::uint64_t number = in_.varint();
        if (in_.failed() || number >= times_.size()) return false;
        stream = static_cast<std::uint32_t>(number);
      }
      if (streams.empty()) return false;
    }
    pairs.resize(read_count());
    const bool as_surprises = patterns::ByteReader(in_).u8() == kOrderAsSurprises;
    return !in_.failed() && (as_surprises ? read_surprises(pairs) : read_pairs(pairs));
  }

  // Whether the pairs are all calls of all streams.
  bool is_all(const std::vector<std::vector<std::uint32_t>>& turns,
              const std::vector<OrderPair>& pairs) const {
    std::vector<std::uint64_t> calls(times_.size());
    std::uint64_t all = 0;
    for (const OrderPair& pair : pairs) {
      if (pair.calls > count_ - all || pair.what >= times_.size() + turns.size()) return false;
      all += pair.calls;
      if (pair.what < times_.size()) {
        calls[pair.what] += pair.calls;
        continue;
      }
      const std::vector<std::uint32_t>& streams = turns[pair.what - times_.size()];
      for (std::size_t k = 0; k < streams.size(); ++k) {
        calls[streams[k]] +=
            pair.calls / streams.size() + (k < pair.calls % streams.size() ? 1 : 0);
      }
    }
    return std::equal(calls.begin(), calls.end(), times_.begin(),
                      [](std::uint64_t n, const Times& times) { return n == times.calls; });
  }

  bool read_order(std::vector<std::vector<std::uint32_t>>& turns, std::vector<OrderPair>& pairs) {
    if (!read_pairs_and_turns(turns, pairs)) return false;
    order_.reserve(count_);
    for (const OrderPair& pair : pairs) {
      if (pair.calls > count_ - order_.size() || pair.what >= times_.size() + turns.size()) {
        return false;
      }
      if (pair.what < times_.size()) {
        order_.insert(order_.end(), pair.calls, static_cast<std::uint32_t>(pair.what));
        continue;
      }
      const std::vector<std::uint32_t>& streams = turns[pair.what - times_.size()];
      for (std::uint64_t k = 0; k < pair.calls; ++k) order_.push_back(streams[k % streams.size()]);
    }
    return order_.size() == count_;
  }

  // As version 2 has them.
  bool read_pairs(std::vector<OrderPair>& pairs) {
    std::vector<std::int64_t> read(2 * pairs.size());
    if (!patterns::decode_tuples(in_, pairs.size(), 2, read)) return false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i] = {static_cast<std::uint64_t>(read[2 * i]),
                  static_cast<std::uint64_t>(read[2 * i + 1])};
    }
    return true;
  }

  bool read_surprises(std::vector<OrderPair>& pairs) {
    in_.u8();
    const std::size_t surprises = read_count();
    std::vector<std::int64_t> read(3 * surprises);
    if (in_.failed() || !patterns::decode_tuples(in_, surprises, 3, read)) return false;
    const auto predictor = std::make_unique<OrderPredictor>();
    predictor->reset(times_.size());
    auto pair = pairs.begin();
    const auto expect = [&](std::uint64_t number) {
      for (; number > 0; --number, ++pair) {
        *pair = predictor->expected();
        predictor->take(*pair);
      }
    };
    for (std::size_t i = 0; i < surprises; ++i) {
      const auto expected = static_cast<std::uint64_t>(read[3 * i]);
      if (expected >= static_cast<std::uint64_t>(pairs.end() - pair)) return false;
      expect(expected);
      *pair = {static_cast<std::uint64_t>(read[3 * i + 1]),
               static_cast<std::uint64_t>(read[3 * i + 2])};
      predictor->take(*pair++);
    }
    expect(static_cast<std::uint64_t>(pairs.end() - pair));
    return true;
  }

  // A number of things of which each takes a byte at least, or belongs to a call.
  std::size_t read_count() {
    const std::uint64_t count = in_.varint();
    if (count > count_) in_.fail();
    return in_.failed() ? 0 : count;
  }

  bool put_in_order() {
    const std::size_t first_stream = streams_.size() - times_.size();
    // Batches are appended one by one: exact room for each would move all calls before it.
    if (calls_.capacity() < first_call_ + count_) {
      calls_.reserve(std::max(first_call_ + count_, 2 * calls_.capacity()));
    }
    for (const std::uint32_t i : order_) {
      Times& times = times_[i];
      if (times.seen == times.calls) return false;
      const CallStream& stream = *streams_[first_stream + i];
      const bool exact = times.seen < times.exact;
      calls_.push_back({&stream,
                        std::span(stream.numbers).subspan(times.seen * width_[i], width_[i]), 0, 0,
                        thread_, exact});
      ++times.seen;
    }
    return true;
  }

  bool read_exact_times() {
    std::uint64_t left = in_.varint();
    const std::uint8_t form = left == 0 ? kTimesExact : in_.u8();
    if (in_.failed() || form > kTimesCoded) return false;
    const auto coded =
        form == kTimesCoded ? in_.take(in_.bytes_left()) : std::span<const std::byte>();
    patterns::RangeDecoder decoder(coded);
    const auto models = form == kTimesCoded ? std::make_unique<TimeModels>() : nullptr;
    std::uint64_t previous = base_;
    std::uint64_t point = 0;  // modulo 2^64: damage may claim any step
    for (std::size_t i = 0; i < count_; ++i) {
      Call& call = calls_[first_call_ + i];
      if (!call.exact) continue;
      if (left-- == 0) return false;
      if (models != nullptr) {
        std::int64_t steps = 0;
        models->decode(decoder, order_[i], steps, call.duration_ns);
        point += static_cast<std::uint64_t>(steps);
        const bool before_base = static_cast<std::int64_t>(point) < 0;
        call.start_ns = base_ + (before_base ? 0 : point * kStartGrid_ns);
        call.coded = true;
      } else {
        call.start_ns = previous + static_cast<std::uint64_t>(in_.svarint());
        call.duration_ns = in_.varint();
        previous = call.start_ns;
      }
      Times& times = times_[order_[i]];
      times.exact_sum += call.duration_ns;
      times.previous_start = call.start_ns;
    }
    if (in_.failed() || left != 0) return false;
    interpolate();
    if (!marks_.empty()) use_marks();
    return true;
  }

  // An inexact call of a stream starts where its place between the last exact one and the end
  // says, and ends no earlier than the call before it and no later than the next exact one.
  void interpolate() {
    std::vector<std::uint64_t> latest(count_);
    std::uint64_t limit = UINT64_MAX;
    for (std::size_t i = count_; i-- > 0;) {
      const Call& call = calls_[first_call_ + i];
      if (call.exact && !is_pseudo_call(call.stream->name)) {
        limit = std::min(limit, call.end_ns());
      }
      latest[i] = limit;
    }
    for (Times& times : times_) times.seen = times.exact;
    std::uint64_t earliest = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      Call& call = calls_[first_call_ + i];
      if (!call.exact) place(call, times_[order_[i]], earliest, latest[i]);
      earliest = std::max(earliest, call.end_ns());
    }
  }

  void use_marks() {
    std::vector<InexactCalls> streams;
    for (const Times& times : times_) {
      const std::uint64_t sum = times.sum > times.exact_sum ? times.sum - times.exact_sum : 0;
      streams.push_back(
          {times.calls - times.exact, sum, times.least, times.largest, times.last_end});
    }
    place_in_bins(decode_marks(marks_), order_, streams, base_,
                  std::span(calls_).subspan(first_call_, count_));
  }

  static void place(Call& call, Times& times, std::uint64_t earliest, std::uint64_t latest) {
    const std::uint64_t inexact = times.calls - times.exact;
    const std::uint64_t sum = times.sum > times.exact_sum ? times.sum - times.exact_sum : 0;
    const std::uint64_t duration =
        std::clamp(sum / inexact, std::min(times.least, times.largest), times.largest);
    const std::uint64_t begin = times.exact > 0 ? times.previous_start : times.first_start;
    const std::uint64_t span = times.last_end > begin ? times.last_end - begin : 0;
    // With exact calls before it the first inexact one comes a step after the last of them.
    const std::uint64_t steps = inexact + (times.exact > 0 ? 1 : 0);
    const std::uint64_t step = times.seen - times.exact + (times.exact > 0 ? 1 : 0);
    const auto offset =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(span) * step / steps);
    ++times.seen;
    const std::uint64_t end =
        std::min(std::max(begin + offset + duration, earliest), std::max(latest, earliest));
    call.duration_ns = std::min(duration, end);
    call.start_ns = end - call.duration_ns;
  }

  patterns::ByteReader in_;
  std::span<const std::byte> marks_;
  std::vector<Call>& calls_;
  CallStreams& streams_;
  CallStreams* spare_;  // may be nullptr
  std::size_t first_call_;
  std::uint32_t thread_ = 0;
  std::uint64_t count_ = 0, base_ = 0, values_ = 0;
  std::vector<Times> times_;
  std::vector<std::size_t> width_;
  std::vector<std::vector<std::int64_t>> runs_;  // of each stream; empty: it has numbers
  std::vector<std::uint32_t> order_;             // the stream of each call
};

}  // namespace

namespace {

bool decode(std::span<const std::byte> payload, std::span<const std::byte> marks,
            const TotalsSuffice& suffice, std::vector<Call>& calls, CallStreams& streams,
            std::vector<StreamTotals>* totals, CallStreams* spare = nullptr) {
  const std::size_t old_calls = calls.size(), old_streams = streams.size();
  if (Decoder(payload, marks, calls, streams, spare).run(suffice, totals)) return true;
  calls.resize(old_calls);
  streams.resize(old_streams);
  return false;
}

}  // namespace

bool decode_patterns(std::span<const std::byte> payload, BatchPatterns& batch) {
  std::vector<Call> calls;
  CallStreams streams;
  return Decoder(payload, {}, calls, streams).run_patterns(batch);
}

bool decode_events(std::span<const std::byte> payload, std::vector<Call>& calls,
                   CallStreams& streams, std::span<const std::byte> marks) {
  return decode(payload, marks, {}, calls, streams, nullptr);
}

bool decode_events(std::span<const std::byte> payload, const TotalsSuffice& suffice,
                   std::vector<Call>& calls, CallStreams& streams,
                   std::vector<StreamTotals>& totals, std::span<const std::byte> marks,
                   CallStreams* spare) {
  return decode(payload, marks, suffice, calls, streams, &totals, spare);
}

}  // namespace iotune::recorder
