// Calls come back in the bin of the process's time in which they ended.
#include "recorder/ring/time_marks.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "recorder/read/trace_blocks/events_decoder.h"
#include "recorder/read/trace_blocks/marks_decoder.h"
#include "recorder/read/trace_reader.h"
#include "recorder/ring/process_buffer.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

constexpr std::uint64_t kFirst = 5'000'000;  // the process's first stamp
constexpr std::uint64_t kBin = std::uint64_t{1} << kLeastBinShift;

struct MadeCall {
  std::int64_t bytes;
  std::uint64_t start, end;  // after the process's start; a tick is a nanosecond
};

// A thread's ring with marks, in memory of its own.
class MarkedRing {
 public:
  MarkedRing() : memory_(1U << 15U) {
    ring_.word = &word_;
    ring_.records = reinterpret_cast<std::byte*>(memory_.data());
    ring_.capacity_bytes = memory_.size() * 8;
    ring_.in_file = true;
    ring_.marks = &marks_;
    ring_.cursor.emptied();
    ring_.cursor.keep_marks(&marks_, kFirst);
  }

  // False where the ring is full.
  bool call(CallNumber number, std::int64_t bytes, std::int64_t offset, std::uint64_t start,
            std::uint64_t duration) {
    const TransferCall call{stream_word(number, 0, 5, 1), {bytes, offset, bytes}};
    const std::uint64_t at = kFirst + start;
    bool counted = ring_.cursor.count(call, at, duration, ring_) ||
                   ring_.cursor.list(call, at, duration) ||
                   ring_.cursor.append(call, at, duration, ring_);
    if (!counted) {
      made::RingBytes one;
      one.add(number, {at, duration}, {5, 1}, {bytes, offset, bytes});
      const std::uint64_t used = word_.load() & UINT32_MAX;
      if (used + one.bytes().size() > ring_.capacity_bytes || ring_.cursor.is_full()) return false;
      std::byte* const to = ring_.records + used;
      std::memcpy(to, one.bytes().data(), one.bytes().size());
      ring_.cursor.mark_record(at, at + duration, word_);
      word_.store(word_.load() + one.bytes().size());
      ring_.cursor.wrote(call, to, true);
    }
    calls_.push_back({bytes, start, start + duration});
    return true;
  }
  void empty() {
    word_.store(((word_.load() >> 32U) + 1) << 32U);
    ring_.cursor.emptied();
    calls_.clear();
  }

  unsigned marks() const { return marks_in(marks_.word); }
  unsigned shift() const { return bin_shift_in(marks_.word); }
  RingMarks& raw_marks() { return marks_; }
  const std::vector<MadeCall>& made() const { return calls_; }

  // As blocks; nothing for marks where there are none.
  std::pair<std::vector<std::byte>, std::vector<std::byte>> encoded() const {
    const auto used = static_cast<std::uint32_t>(word_.load());
    const std::vector<std::byte> records(ring_.records, ring_.records + used);
    std::vector<std::uint64_t> scratch(scratch_bytes_needed(used) / 8 + 1);
    std::vector<std::byte> events(events_bytes_at_most(used)), marks(kMostMarksBytes);
    std::uint64_t calls = 0;
    EventsRequest request;
    request.records = records;
    request.first_ticks = kFirst;
    request.epoch = static_cast<std::uint32_t>(word_.load() >> 32U);
    request.calls = &calls;
    request.scratch = std::as_writable_bytes(std::span(scratch));
    patterns::ByteWriter writer(events);
    EXPECT_TRUE(encode_events(request, writer));
    events.resize(writer.bytes_used());
    EXPECT_EQ(calls, calls_.size());
    patterns::ByteWriter of_marks(marks);
    const std::span<const TimeMark> some(marks_.mark, marks_in(marks_.word));
    const bool any = marks_.word >> 32U == word_.load() >> 32U &&
                     encode_marks(request, some, shift(), calls, of_marks);
    marks.resize(any ? of_marks.bytes_used() : 0);
    return {events, marks};
  }

  std::vector<Call> decoded() {
    std::vector<Call> calls;
    const auto [events, marks] = encoded();
    EXPECT_FALSE(marks.empty());
    EXPECT_TRUE(decode_events(events, calls, streams_, marks));
    EXPECT_EQ(calls.size(), calls_.size());
    return calls;
  }

 private:
  std::vector<std::uint64_t> memory_;
  std::atomic<std::uint64_t> word_{0};
  RingMarks marks_{};
  Ring ring_{};
  std::vector<MadeCall> calls_;
  std::vector<std::unique_ptr<CallStream>> streams_;
};

// Bytes by bin: as they were made, and as they came back.
void expect_same_bins(MarkedRing& ring) {
  std::map<std::uint64_t, std::int64_t> made, found;
  const std::vector<Call> calls = ring.decoded();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const MadeCall& call = ring.made()[i];
    made[call.end >> ring.shift()] += call.bytes;
    found[calls[i].end_ns() >> ring.shift()] += calls[i].numbers[2];
    ASSERT_TRUE(calls[i].in_bin);
    ASSERT_EQ(calls[i].end_ns() >> ring.shift(), call.end >> ring.shift()) << "call " << i;
  }
  EXPECT_EQ(found, made);
  EXPECT_LE(ring.marks(), kMostMarks);
  EXPECT_GE(ring.marks(), made.size());
}

TEST(TimeMarks, ALoopWithAPauseKeepsThePause) {
  MarkedRing ring;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t pause = i < 1000 ? 0 : 40 * kBin;
    ring.call(CallNumber::kpwrite, 64, static_cast<std::int64_t>(64 * i), pause + 19'200 * i, 100);
  }
  EXPECT_LT(ring.marks(), 26U);
  expect_same_bins(ring);
  const std::vector<Call> calls = ring.decoded();
  EXPECT_LT(calls[999].end_ns(), 6 * kBin);
  EXPECT_GT(calls[1000].end_ns(), 44 * kBin);
  // Without the marks they lie evenly between the first and the last.
  std::vector<Call> without;
  std::vector<std::unique_ptr<CallStream>> streams;
  ASSERT_TRUE(decode_events(ring.encoded().first, without, streams));
  EXPECT_GT(without[999].end_ns(), 10 * kBin);
}

TEST(TimeMarks, BinsDoubleAndJoin) {
  MarkedRing ring;
  unsigned last = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(ring.call(CallNumber::kpread, 8, 0, 20'000 * i, 10'000));
    ASSERT_LE(ring.marks(), kMostMarks);
    ASSERT_GE(ring.shift(), last);
    last = ring.shift();
  }
  // 2 s are 61 bins of 2^25 ns.
  EXPECT_EQ(ring.shift(), 25U);
  EXPECT_EQ(ring.marks(), 60U);
  expect_same_bins(ring);
}

TEST(TimeMarks, ALongCallKeepsItsDuration) {
  MarkedRing ring;
  const auto long_call = 7 * kBin;
  std::uint64_t now = 0, sum = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::uint64_t duration = i == 700 ? long_call : 100;
    ASSERT_TRUE(ring.call(CallNumber::kpwrite, 4096, 4096 * i, now, duration));
    now += duration + 100;
    sum += duration;
  }
  std::vector<Call> calls = ring.decoded();
  EXPECT_EQ(calls[700].duration_ns, long_call);
  EXPECT_NEAR(static_cast<double>(calls[700].end_ns()), static_cast<double>(ring.made()[700].end),
              kBin / 128.0);
  std::uint64_t found = 0;
  for (const Call& call : calls) found += call.duration_ns;
  EXPECT_NEAR(static_cast<double>(found), static_cast<double>(sum), 1000.0);
}

// Loops, jumps, random offsets, two streams in turns, pauses and long calls, over several batches.
TEST(TimeMarks, WhateverTheCallsEachIsInItsBin) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 draw(seed);
    const auto below = [&](std::uint64_t n) { return draw() % n; };
    MarkedRing ring;
    std::uint64_t now = below(2) == 0 ? 0 : below(1000) * kBin;
    for (unsigned batch = 0; batch < 3; ++batch) {
      bool room = true;
      for (unsigned phase = 0; phase < 12 && room; ++phase) {
        const std::uint64_t kind = below(5), calls = below(600), step = 1 + below(4096);
        const std::uint64_t mean = 1 + below(below(8) == 0 ? 8 * kBin : 2000);
        if (below(3) == 0) now += below(100) * kBin;
        for (std::uint64_t i = 0; i < calls && room; ++i) {
          const bool reads = kind == 3 && i % 2 == 0;
          const std::uint64_t offset = kind == 0 ? i * step : kind == 1 ? below(1U << 30U) : i * 64;
          const auto bytes = static_cast<std::int64_t>(kind == 4 ? 1 + below(100) : 64);
          const std::uint64_t duration = below(mean);
          room = ring.call(reads ? CallNumber::kpread : CallNumber::kpwrite, bytes,
                           static_cast<std::int64_t>(offset), now, duration);
          now += duration + below(mean);
        }
      }
      if (!ring.made().empty()) expect_same_bins(ring);
      ring.empty();
    }
  }
}

TEST(TimeMarks, AnEmptiedRingBeginsAnew) {
  MarkedRing ring;
  for (std::uint64_t i = 0; i < 100; ++i) ring.call(CallNumber::kpwrite, 1, 0, i * kBin, 10);
  ring.empty();
  ring.call(CallNumber::kpwrite, 1, 0, 100 * kBin, 10);
  EXPECT_EQ(ring.marks(), 1U);
  EXPECT_EQ(decode_marks(ring.encoded().second).size(), 1U);
}

// What a copy of a ring may hold whose thread joins bins meanwhile.
TEST(TimeMarks, MarksOutOfOrderArePassedOver) {
  MarkedRing ring;
  for (std::uint64_t i = 0; i < 60; ++i) {
    ring.call(CallNumber::kpwrite, 1, static_cast<std::int64_t>(i * i), i * kBin, 10);
  }
  RingMarks& marks = ring.raw_marks();
  marks.mark[1] = marks.mark[2];
  marks.mark[2] = marks.mark[4];
  const std::vector<BinMark> found = decode_marks(ring.encoded().second);
  ASSERT_EQ(found.size(), 58U);
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LT(found[i - 1].call, found[i].call);
}

TEST(TimeMarks, DamageIsNoMark) {
  MarkedRing ring;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    ring.call(CallNumber::kpwrite, 64, static_cast<std::int64_t>(64 * i), 3000 * i, 100);
  }
  const auto [events, marks] = ring.encoded();
  std::mt19937 draw(43);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = marks;
    for (unsigned k = 0; k <= draw() % 3; ++k) bytes[draw() % bytes.size()] ^= std::byte(draw());
    if (draw() % 4 == 0) bytes.resize(draw() % bytes.size());
    std::vector<Call> calls;
    std::vector<std::unique_ptr<CallStream>> streams;
    ASSERT_TRUE(decode_events(events, calls, streams, bytes));
    ASSERT_EQ(calls.size(), 2000U);
  }
}

TEST(TimeMarks, ATraceHasThem) {
  MarkedRing ring;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t pause = i < 1000 ? 0 : 40 * kBin;
    ring.call(CallNumber::kpwrite, 64, static_cast<std::int64_t>(64 * i), pause + 19'200 * i, 100);
  }
  const auto [events, marks] = ring.encoded();
  const made::Folder folder;
  std::vector<std::byte> trace = made::trace_head();
  made::add_block(trace, BlockType::kProcess, made::bytes_of(made::process_text(7, 0)));
  made::add_block(trace, BlockType::kEvents, events);
  made::add_block(trace, BlockType::kMarks, marks);
  const auto reader = TraceReader::open(folder.file("a.iotrace", trace));
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->warnings().empty());
  const ProcessCalls calls = reader->read(0);
  ASSERT_EQ(calls.calls.size(), 4000U);
  EXPECT_LT(calls.calls[999].end_ns(), 6 * kBin);
  EXPECT_GT(calls.calls[1000].end_ns(), 44 * kBin);
}

}  // namespace
}  // namespace iotune::recorder
