// What the hot path counts instead of writing comes back call by call.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "recorder/read/trace_blocks/events_decoder.h"
#include "recorder/ring/process_buffer.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

// A call as it is to come back.
struct MadeCall {
  CallNumber number;
  std::uint8_t layers;
  std::vector<std::int64_t> keys, numbers;
};

// A thread's ring in memory of its own, written as record_transfer and RecordWriter write it.
class TestRing {
 public:
  TestRing() : memory_(1U << 17U) {
    ring_.word = &word_;
    ring_.records = reinterpret_cast<std::byte*>(memory_.data());
    ring_.capacity_bytes = memory_.size() * 8;
    ring_.in_file = true;
    ring_.cursor.emptied();
  }

  void call(const TransferCall& call) {
    const MadeCall made{static_cast<CallNumber>(function_in(call.stream)),
                        layers_in(call.stream),
                        {descriptor_in(call.stream), file_in(call.stream)},
                        {call.numbers[0], call.numbers[1], call.numbers[2]}};
    calls_.push_back(made);
    now_ += 100;
    if (ring_.cursor.count(call, now_, 40, ring_)) return;
    if (ring_.cursor.list(call, now_, 40) || ring_.cursor.append(call, now_, 40, ring_)) {
      ++listed_;
      return;
    }
    const std::byte* const record = end();
    publish(build(made));
    ring_.cursor.wrote(call, record, true);
    ++written_;
  }
  // Of any layer.
  void call(const MadeCall& made, bool may_count = true) {
    calls_.push_back(made);
    now_ += 100;
    const std::size_t bytes = build(made);
    std::uint64_t head, counts;
    std::memcpy(&head, end(), 8);
    std::memcpy(&counts, end() + 24, 8);
    const BuiltRecord built{end(), static_cast<unsigned>(made.keys.size() + made.numbers.size()),
                            head & kHeadWithoutMarks, counts};
    if (may_count && ring_.cursor.count(built, now_, 40, ring_)) return;
    publish(bytes);
    ring_.cursor.wrote(built, may_count);
    ++written_;
  }
  // A call that is no transfer stands between.
  void other() {
    now_ += 100;
    calls_.push_back({CallNumber::kfsync, 0, {3, 1}, {0}});
    publish(build(calls_.back(), true));
    ring_.cursor.wrote_other();
  }

  std::vector<std::byte> records() const {
    return {ring_.records, ring_.records + static_cast<std::uint32_t>(word_.load())};
  }
  std::size_t written() const { return written_; }
  std::size_t listed() const { return listed_; }

  void expect_same(const std::vector<std::byte>& payload) const {
    std::vector<Call> calls;
    std::vector<std::unique_ptr<CallStream>> streams;
    ASSERT_TRUE(decode_events(payload, calls, streams));
    ASSERT_EQ(calls.size(), calls_.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const MadeCall& call = calls_[i];
      SCOPED_TRACE("call " + std::to_string(i));
      ASSERT_EQ(calls[i].name(), call_table()[static_cast<std::size_t>(call.number)].name);
      ASSERT_EQ(calls[i].layers(), call.layers);
      ASSERT_EQ(calls[i].keys(), call.keys);
      ASSERT_EQ(calls[i].numbers.size(), call.numbers.size());
      for (std::size_t d = 0; d < call.numbers.size(); ++d) {
        ASSERT_EQ(calls[i].numbers[d], call.numbers[d]);
      }
    }
  }

 private:
  std::byte* end() { return ring_.records + static_cast<std::uint32_t>(word_.load()); }
  // Puts the record behind the last one. Returns its bytes.
  std::size_t build(const MadeCall& made, bool control = false) {
    made::RingBytes one;
    one.add(made.number, {now_, 40}, made.keys, made.numbers, {}, control, made.layers);
    const std::size_t bytes = one.bytes().size();
    if (word_.load() + bytes > ring_.capacity_bytes) throw std::length_error("the ring is full");
    std::memcpy(end(), one.bytes().data(), bytes);
    return bytes;
  }
  void publish(std::size_t bytes) { word_.store(word_.load() + bytes); }

  std::vector<std::uint64_t> memory_;
  std::atomic<std::uint64_t> word_{0};
  Ring ring_{};
  std::vector<MadeCall> calls_;
  std::uint64_t now_ = 1000;
  std::size_t written_ = 0, listed_ = 0;
};

TransferCall transfer(CallNumber number, std::int64_t fd, std::int64_t size, std::int64_t offset,
                      std::uint8_t layers = 0) {
  return {stream_word(number, layers, static_cast<int>(fd), static_cast<std::uint32_t>(fd) + 1),
          {size, offset, size}};
}

TEST(Repeats, AStridedLoopIsCountedInOneRecord) {
  TestRing ring;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    ring.call(transfer(CallNumber::kpwrite, 5, 64, 256 * i));
  }
  EXPECT_EQ(ring.written(), 3U);
  const auto payload = made::encoded(ring.records(), 0, 0, false);
  EXPECT_LT(payload.size(), 100U);
  ring.expect_same(payload);
}

TEST(Repeats, SeveralFilesInTurnAreOneLoop) {
  TestRing ring;
  for (std::int64_t i = 0; i < 30'001; ++i) {
    const std::int64_t file = i % 3;
    ring.call(transfer(file == 1 ? CallNumber::kpread : CallNumber::kpwrite, 5 + file, 64 + file,
                       -1000 * file + (100 + file) * (i / 3)));
  }
  EXPECT_EQ(ring.written(), 9U);
  const auto payload = made::encoded(ring.records(), 0, 0, false);
  EXPECT_LT(payload.size(), 250U);
  ring.expect_same(payload);
}

TEST(Repeats, ANestCostsItsOuterLoop) {
  TestRing ring;
  for (std::int64_t outer = 0; outer < 500; ++outer) {
    for (std::int64_t i = 0; i < 100; ++i) {
      ring.call(transfer(CallNumber::kpread, 5, 64, 1'000'000 * outer + 512 * i));
    }
  }
  EXPECT_LT(ring.written(), 510U);
  const auto payload = made::encoded(ring.records(), 0, 0, false);
  EXPECT_LT(payload.size(), 150U);
  ring.expect_same(payload);
}

TEST(Repeats, NoMoreThanTheLimitIsCounted) {
  TestRing ring;
  for (std::int64_t i = 0; i < kMostRepeated + 100; ++i) {
    ring.call(transfer(CallNumber::kpwrite, 5, 64, 64 * i));
  }
  EXPECT_EQ(ring.written(), 100U);
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

// As MPI_File_write_at has them: a handle, an offset, three that stay.
MadeCall mpi_write(std::int64_t offset, std::int64_t count = 64, std::int64_t handle = 17) {
  return {CallNumber::kMPI_File_write_at, 0, {}, {handle, offset, count, 1275068673, 0, count}};
}
// Of a two-dimensional row in a file of `dims` dimensions.
MadeCall hdf5_write(std::int64_t row, int dims) {
  MadeCall made{CallNumber::kH5Dwrite, 0, {}, {360287970189639680, 216172782113784251, 7, 8, 0, 0}};
  for (const std::int64_t selected : {0, 1}) {
    made.numbers.insert(made.numbers.end(), {1024, 2, dims});
    for (int part = 0; part < 4; ++part) {
      for (int d = 0; d < dims; ++d) made.numbers.push_back(part == 0 && d == selected ? row : d);
    }
  }
  return made;
}

TEST(Repeats, NestedCallsOfSeveralLayersAreOneLoop) {
  TestRing ring;
  const auto inside = static_cast<std::uint8_t>(1 << static_cast<unsigned>(Layer::kMpiIo));
  for (std::int64_t i = 0; i < 20'000; ++i) {
    ring.call(transfer(CallNumber::kpwrite, 5, 64, 256 * i, inside));
    ring.call(mpi_write(256 * i));
    ring.call(hdf5_write(i, 3));
  }
  EXPECT_EQ(ring.written(), 9U);
  const auto payload = made::encoded(ring.records(), 0, 0, false);
  EXPECT_LT(payload.size(), 500U);
  ring.expect_same(payload);
}

TEST(Repeats, OnlyWhatIsTheSameCallIsCounted) {
  TestRing ring;
  const auto loop = [&ring](int calls) {
    for (int i = 0; i < calls; ++i) ring.call(mpi_write(512 * i));
  };
  loop(100);
  EXPECT_EQ(ring.written(), 3U);
  ring.call(mpi_write(512 * 100, 65));    // another count
  loop(3);                                // begins anew
  ring.call(mpi_write(512 * 3, 64, 18));  // another handle
  MadeCall other = mpi_write(512 * 4);
  other.number = CallNumber::kMPI_File_read_at;
  ring.call(other);
  other.layers = 1;
  ring.call(other);
  other.numbers.push_back(0);
  ring.call(other);
  other.keys.push_back(3);
  ring.call(other);
  EXPECT_EQ(ring.written(), 12U);
  loop(10);
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

// What moves in more places than the cursor follows, and what has more words than it keeps.
TEST(Repeats, WhatIsTooWideIsWritten) {
  TestRing ring;
  for (std::int64_t i = 0; i < 50; ++i) {
    MadeCall made{CallNumber::kH5Dwrite, 0, {}, {}};
    for (int k = 0; k < 20; ++k) made.numbers.push_back(i * k);
    ring.call(made);
  }
  EXPECT_EQ(ring.written(), 50U);
  for (std::int64_t i = 0; i < 50; ++i) ring.call(hdf5_write(i, 5));
  EXPECT_EQ(ring.written(), 53U);
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

TEST(Repeats, WideCallsCostMoreOfTheLimit) {
  TestRing ring;
  const MadeCall one = hdf5_write(0, 5);
  const std::int64_t calls = kMostRepeated / cost_of_repeated(one.numbers.size());
  for (std::int64_t i = 0; i < calls + 100; ++i) ring.call(hdf5_write(i, 5));
  EXPECT_GT(ring.written(), 90U);
  EXPECT_LT(ring.written(), 110U);
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

// A list takes a word a call, and what it becomes in a block is longer.
TEST(Repeats, AListThatALoopFollowsHasRoom) {
  TestRing ring;
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const auto offset = static_cast<std::int64_t>(random() % 1'000'000'000);
    ring.call(transfer(CallNumber::kpread, 5, 64, offset));
  }
  EXPECT_GT(ring.listed(), 95'000U);
  for (std::int64_t i = 0; i < 50'000; ++i) {
    ring.call(transfer(CallNumber::kpread, 5, 64, 4096 * i));
  }
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

TEST(Repeats, NoiseIsListedByItsNumbers) {
  TestRing ring;
  std::mt19937_64 random(7);
  const auto noise = [&](std::int64_t fd, int calls) {
    for (int i = 0; i < calls; ++i) {
      const auto offset = static_cast<std::int64_t>(random() % 100'000 * 64);
      ring.call(transfer(CallNumber::kpread, fd, 64, offset));
    }
  };
  noise(5, 10'000);
  EXPECT_GT(ring.listed(), 8000U);
  EXPECT_LT(ring.records().size(), 10'000U * 20);
  // What has a pattern is counted again at once, and another file's noise is listed too.
  const std::size_t before = ring.written() + ring.listed();
  for (std::int64_t i = 0; i < 5000; ++i) {
    ring.call(transfer(CallNumber::kpread, 5, 64, 640 + 128 * i));
  }
  EXPECT_LT(ring.written() + ring.listed(), before + 6);
  noise(6, 3000);
  for (std::int64_t i = 0; i < 100; ++i) {
    noise(7, 1 + static_cast<int>(random() % 9));
    noise(8, 1 + static_cast<int>(random() % 9));
    if (i % 10 == 0) ring.other();
  }
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

TEST(Repeats, OnlyWhatMovesIsListed) {
  TestRing ring;
  std::mt19937_64 random(11);
  const auto draw = [&random] { return static_cast<std::int64_t>(random() % 100'000); };
  const auto bytes_for = [&](int calls, auto next) {
    const std::size_t before = ring.records().size();
    for (int i = 0; i < calls; ++i) ring.call(next());
    return ring.records().size() - before;
  };
  const auto both = [&] { return transfer(CallNumber::kpread, 5, draw(), 64 * draw()); };
  const auto offset = [&] { return transfer(CallNumber::kpread, 5, 64, 64 * draw()); };
  // Now and then a short result.
  const auto seldom = [&, n = 0]() mutable {
    TransferCall call = offset();
    if (++n % 500 == 0) call.numbers[2] = 3;
    return call;
  };
  // Each size twice: what stays does not stay for long.
  const auto twice = [&, n = 0, size = draw()]() mutable {
    if (++n % 2 == 0) size = draw();
    return transfer(CallNumber::kpread, 5, size, 64 * draw());
  };
  bytes_for(4000, both);
  EXPECT_LT(bytes_for(4000, offset), 4000U * 14);
  EXPECT_LT(bytes_for(4000, seldom), 4000U * 14);
  EXPECT_LT(bytes_for(4000, twice), 4000U * 34);
  EXPECT_LT(bytes_for(4000, both), 4000U * 34);
  ring.expect_same(made::encoded(ring.records(), 0, 0, false));
}

// Segments of loops, of noise, of turns and of other calls, drawn at random.
TEST(Repeats, RandomSequencesComeBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  for (int round = 0; round < 300; ++round) {
    TestRing ring;
    // What one segment may write at most fits behind that.
    constexpr std::size_t kNearlyFull = 600'000;
    for (std::int64_t segment = below(30); segment >= 0 && ring.records().size() < kNearlyFull;
         --segment) {
      const std::int64_t kind = below(6), calls = below(below(5) == 0 ? 600 : 40),
                         base = below(1000), turns = 1 + below(9), files = 1 + below(4),
                         around = below(5);
      const std::int64_t stride =
          below(2) != 0 ? 8 * below(3) : static_cast<std::int64_t>(random());
      for (std::int64_t i = 0; i < calls; ++i) {
        const std::int64_t place = i / turns, leaf = i % turns;
        const auto at = static_cast<std::int64_t>(static_cast<std::uint64_t>(base + 100 * leaf) +
                                                  static_cast<std::uint64_t>(stride) *
                                                      static_cast<std::uint64_t>(place));
        const std::int64_t offset = kind == 5 ? below(1U << 20U) : at;
        // A call around it, whose handle may come and go.
        if (around == 1 && leaf == 0) ring.call(mpi_write(offset, 64, below(60) == 0 ? 4 : 3));
        if (around == 2) ring.call(hdf5_write(at, 1 + static_cast<int>(turns % 5)), i > 2);
        ring.call(transfer(kind == 4 ? CallNumber::kread : CallNumber::kpwrite, leaf % files,
                           kind == 3 ? below(3) : 64, offset, below(50) == 0 ? 1 : 0));
      }
      if (below(4) == 0) ring.other();
    }
    if (ring.records().empty()) continue;
    ring.expect_same(made::encoded(ring.records(), 0, 0, round % 2 == 0));
  }
}

// A ring of a killed process may end anywhere, and hold anything.
void damage_everywhere(const std::vector<std::byte>& records, std::size_t from) {
  for (std::size_t i = from; i < records.size(); ++i) {
    for (const unsigned bits : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> damaged = records;
      damaged[i] ^= static_cast<std::byte>(bits);
      const auto payload = made::encoded(damaged, 0, 0, false);
      std::vector<Call> calls;
      std::vector<std::unique_ptr<CallStream>> streams;
      EXPECT_TRUE(payload.empty() || decode_events(payload, calls, streams));
    }
  }
}
TEST(Repeats, DamageOfAnyByteIsNeverACrash) {
  TestRing ring;
  for (std::int64_t i = 0; i < 40; ++i) ring.call(transfer(CallNumber::kpwrite, i % 2, 64, 8 * i));
  damage_everywhere(ring.records(), 0);
}

TEST(Repeats, DamageOfWideLeavesIsNeverACrash) {
  TestRing ring;
  for (std::int64_t i = 0; i < 20; ++i) {
    ring.call(transfer(CallNumber::kpwrite, 1, 64, 8 * i));
    ring.call(mpi_write(8 * i));
  }
  damage_everywhere(ring.records(), 0);
}

TEST(Repeats, DamageOfAListIsNeverACrash) {
  TestRing ring;
  std::mt19937_64 random(3);
  for (int i = 0; i < 270; ++i) {
    const auto offset = static_cast<std::int64_t>(random() % 100'000);
    ring.call(transfer(CallNumber::kpread, 5, 64, offset));
  }
  EXPECT_GT(ring.listed(), 5U);
  std::vector<std::byte> records = ring.records();
  damage_everywhere(records, records.size() - ring.listed() * list_call_bytes(2) - kListHeadBytes);
  // A list that its process was adding to.
  for (std::size_t cut = 8; cut < 200; cut += 8) {
    const std::vector<std::byte> part(records.begin(), records.end() - static_cast<long>(cut));
    std::vector<Call> calls;
    std::vector<std::unique_ptr<CallStream>> streams;
    EXPECT_TRUE(decode_events(made::encoded(part, 0, 0, false), calls, streams));
    EXPECT_LT(calls.size(), 270U);
  }
}

}  // namespace
}  // namespace iotune::recorder
