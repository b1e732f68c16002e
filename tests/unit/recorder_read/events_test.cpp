#include <gtest/gtest.h>

#include <random>

#include "recorder/read/trace_blocks/events_decoder.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

using made::RingBytes;

struct Decoded {
  std::vector<Call> calls;
  std::vector<std::unique_ptr<CallStream>> streams;
  bool ok = false;
};

Decoded decode(const std::vector<std::byte>& payload) {
  Decoded decoded;
  decoded.ok = decode_events(payload, decoded.calls, decoded.streams);
  return decoded;
}

RingBytes random_ring(std::mt19937_64& random, std::size_t calls) {
  RingBytes ring;
  std::uint64_t now = 1000;
  for (std::size_t i = 0; i < calls; ++i) {
    const std::uint64_t duration = random() % 500;
    std::vector<std::int64_t> keys, numbers;
    for (std::size_t k = random() % 3; k > 0; --k)
      keys.push_back(static_cast<std::int64_t>(random() % 4));
    for (std::size_t d = random() % 9; d > 0; --d) {
      numbers.push_back(static_cast<std::int64_t>(random() % 2 ? random() : random() % 7));
    }
    static const char* const kTexts[] = {"", "a", "a name that is longer", "/dev/shm/x.h5"};
    ring.add(static_cast<CallNumber>(random() % kCallCount), {now, duration}, keys, numbers,
             kTexts[random() % 4], random() % 3 == 0, static_cast<std::uint8_t>(random() % 4));
    now += duration + random() % 50;
  }
  return ring;
}

// Reads the ring's records as the reference.
void expect_same(const std::vector<std::byte>& records, const Decoded& decoded, bool exact_times) {
  ASSERT_TRUE(decoded.ok);
  std::size_t at = 0, i = 0;
  while (at < records.size()) {
    const auto load = [&](std::size_t offset, auto value) {
      std::memcpy(&value, records.data() + at + offset, sizeof value);
      return value;
    };
    ASSERT_LT(i, decoded.calls.size());
    const Call& call = decoded.calls[i++];
    EXPECT_EQ(call.name(), call_table()[load(4, std::uint16_t{})].name);
    EXPECT_EQ(call.layers(), load(6, std::uint8_t{}));
    const auto keys = load(24, std::uint16_t{}), numbers = load(26, std::uint16_t{});
    ASSERT_EQ(call.keys().size(), keys);
    ASSERT_EQ(call.numbers.size(), numbers);
    for (unsigned k = 0; k < keys; ++k) {
      EXPECT_EQ(call.keys()[k], load(32 + 8U * k, std::int64_t{}));
    }
    for (unsigned d = 0; d < numbers; ++d) {
      EXPECT_EQ(call.numbers[d], load(32 + 8U * (keys + d), std::int64_t{}));
    }
    if (exact_times) {
      EXPECT_TRUE(call.exact);
      EXPECT_EQ(call.start_ns, load(8, std::uint64_t{}));
      EXPECT_EQ(call.duration_ns, load(16, std::uint64_t{}));
    }
    at += load(0, std::uint32_t{});
  }
  EXPECT_EQ(i, decoded.calls.size());
}

TEST(Events, RandomRingsComeBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    const RingBytes ring = random_ring(random, 1 + random() % 300);
    expect_same(ring.bytes(), decode(made::encoded(ring.bytes())), true);
    expect_same(ring.bytes(), decode(made::encoded(ring.bytes(), 0, 0, false)), false);
  }
}

TEST(Events, AFullRingOfTheSmallestRecordsFits) {
  RingBytes ring;
  for (std::uint64_t i = 0; i < 8190; ++i) {
    ring.add(static_cast<CallNumber>(i * 7 % kCallCount), {i * 10, 5}, {}, {});
  }
  EXPECT_LE(scratch_bytes_needed(256U << 10U), 4U << 20U);
  const auto payload = made::encoded(ring.bytes());
  expect_same(ring.bytes(), decode(payload), true);
}

TEST(Events, ARegularPatternCostsLittle) {
  RingBytes ring;
  for (std::int64_t i = 0; i < 3000; ++i) {
    ring.add(CallNumber::kpwrite, {static_cast<std::uint64_t>(i) * 100, 50}, {5, 1},
             {4096, 8192 * i, 4096});
  }
  const auto payload = made::encoded(ring.bytes(), 0, 0, false);
  EXPECT_LT(payload.size(), 100U);
  expect_same(ring.bytes(), decode(payload), false);
}

TEST(Events, CallsWiderThanATupleComeBack) {
  RingBytes ring;
  std::vector<std::int64_t> wide(1000);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::int64_t>(i * i % 97);
  for (std::uint64_t i = 0; i < 3; ++i) ring.add(CallNumber::kH5Dwrite, {i, 1}, {}, wide);
  expect_same(ring.bytes(), decode(made::encoded(ring.bytes())), true);
}

TEST(Events, ControlCallsAndMarkedTransfersHaveTheirOwnTimes) {
  RingBytes ring;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ring.add(CallNumber::kpwrite, {100 * i, 50}, {3, 1}, {1, 1, 1});
    if (i < 3) ring.mark_exact();
    ring.add(CallNumber::kfsync, {100 * i + 60, 10}, {3, 1}, {0}, "", true);
    ring.add(CallNumber::kpread, {100 * i + 80, 10}, {3, 1}, {1, 1, 1});
    if (i < 2) ring.mark_exact();
  }
  const Decoded decoded = decode(made::encoded(ring.bytes(), 0, 0, false));
  ASSERT_TRUE(decoded.ok);
  int exact_transfers = 0;
  std::uint64_t last_end = 0;
  for (std::size_t i = 0; i < decoded.calls.size(); ++i) {
    const Call& call = decoded.calls[i];
    if (call.name() == "fsync") {
      EXPECT_TRUE(call.exact);
      EXPECT_EQ(call.start_ns, 100 * (i / 3) + 60);
    } else if (call.exact) {
      ++exact_transfers;
      EXPECT_LT(i, 8U);
    }
    EXPECT_GE(call.end_ns(), last_end);
    last_end = call.end_ns();
    // Evenly spaced calls are put back where they were, but for rounding.
    const std::uint64_t was = 100 * (i / 3) + (i % 3 == 0 ? 0 : i % 3 == 1 ? 60 : 80);
    EXPECT_NEAR(static_cast<double>(call.start_ns), static_cast<double>(was), 60.0);
  }
  EXPECT_EQ(exact_transfers, 5);
}

// Starts within max(1 µs, 1 % of the gap), durations within 5 %: of times drawn over all scales.
TEST(Events, CodedTimesKeepTheirTolerance) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RingBytes ring;
  std::vector<made::RecordTimes> times;
  std::uint64_t now = 5'000'000;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t duration = random() >> (20 + random() % 44),
                        gap = random() >> (25 + random() % 39);
    // Some began before the one that was written last.
    const std::uint64_t start = i % 10 == 9 ? now - now / 7 : now;
    times.push_back({start, duration});
    ring.add(i % 3 == 0 ? CallNumber::kpread : CallNumber::kpwrite, times.back(), {3, 1},
             {64, 64 * i, 64});
    now += gap;
  }
  std::vector<std::uint64_t> scratch(scratch_bytes_needed(ring.bytes().size()) / 8 + 1);
  std::vector<std::byte> payload(events_bytes_at_most(ring.bytes().size()));
  EventsRequest request;
  request.records = ring.bytes();
  request.every_time_exact = request.coded_times = true;
  request.scratch = std::as_writable_bytes(std::span(scratch));
  patterns::ByteWriter writer(payload);
  ASSERT_TRUE(encode_events(request, writer));
  payload.resize(writer.bytes_used());
  const Decoded decoded = decode(payload);
  ASSERT_TRUE(decoded.ok);
  ASSERT_EQ(decoded.calls.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto near = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
    EXPECT_LE(near(decoded.calls[i].start_ns, times[i].start), 512U);
    EXPECT_LE(near(decoded.calls[i].duration_ns, times[i].duration), times[i].duration / 20);
  }
  // Damage of any byte gives other times, or none.
  for (std::size_t i = 0; i < payload.size(); i += 7) {
    std::vector<std::byte> damaged = payload;
    damaged[i] ^= std::byte{0x55};
    decode(damaged);
  }
}

TEST(Events, TooLittleRoomWritesNothing) {
  std::mt19937_64 random(1);
  const RingBytes ring = random_ring(random, 50);
  const std::size_t whole = made::encoded(ring.bytes()).size();
  std::vector<std::uint64_t> scratch(scratch_bytes_needed(ring.bytes().size()) / 8 + 1);
  EventsRequest request;
  request.records = ring.bytes();
  request.scratch = std::as_writable_bytes(std::span(scratch));
  for (std::size_t room = 0; room + 200 < whole; room += 37) {
    std::vector<std::byte> out(room);
    patterns::ByteWriter writer(out);
    EXPECT_FALSE(encode_events(request, writer));
    EXPECT_EQ(writer.bytes_used(), 0U);
    EXPECT_FALSE(writer.overflowed());
  }
  request.scratch = request.scratch.first(request.scratch.size() / 2);
  std::vector<std::byte> out(1U << 20U);
  patterns::ByteWriter writer(out);
  EXPECT_FALSE(encode_events(request, writer));
}

TEST(Events, RecordsBehindADamagedOneAreLeftOut) {
  RingBytes ring;
  for (std::uint64_t i = 0; i < 4; ++i) ring.add(CallNumber::kH5Fclose, {i, 1}, {}, {1, 0});
  std::vector<std::byte> records = ring.bytes();
  records[2 * records.size() / 4] = std::byte{3};
  EXPECT_EQ(count_calls(records), 2U);
  const Decoded decoded = decode(made::encoded(records));
  ASSERT_TRUE(decoded.ok);
  EXPECT_EQ(decoded.calls.size(), 2U);
}

TEST(Events, DamageOfAnyByteIsNeverACrash) {
  std::mt19937_64 random(3);
  const auto payload = made::encoded(random_ring(random, 20).bytes());
  for (std::size_t i = 0; i < payload.size(); ++i) {
    for (const unsigned bit : {0x01U, 0x80U, 0xffU}) {
      auto damaged = payload;
      damaged[i] ^= static_cast<std::byte>(bit);
      const Decoded decoded = decode(damaged);
      if (!decoded.ok) {
        EXPECT_TRUE(decoded.calls.empty() && decoded.streams.empty());
      }
    }
    auto cut = payload;
    cut.resize(i);
    EXPECT_FALSE(decode(cut).ok);
  }
}

}  // namespace
}  // namespace iotune::recorder
