#include "prefetch/streams/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "patterns/predict/best_predictor.h"

namespace iotune::prefetch {
namespace {

using patterns::Extent;

constexpr std::uint64_t kLatency = 2'000'000, kCached = 5'000, kQuick = 50'000;
constexpr std::int64_t kBlock = 65536;

// A stream with the memory of its predictor.
struct Driven {
  explicit Driven(const char* kind = "nest", bool known = false)
      : memory(patterns::predictor_kind(kind)->bytes({})) {
    patterns::predictor_kind(kind)->start(memory, {});
    limits.quick = kQuick;
    stream.emplace(*patterns::predictor_kind(kind), memory.data(), limits, known);
  }

  std::vector<std::byte> memory;
  Limits limits;
  std::optional<Stream> stream;
};

// A program, a storage that takes kLatency, and a helper that is at once where it is asked for.
class Storage {
 public:
  explicit Storage(const char* kind = "nest", std::uint64_t file_bytes = std::uint64_t{1} << 40)
      : driven_(kind), file_bytes_(file_bytes) {}

  // One read with a pause before it; true where it was requested beforehand.
  bool read(const Extent& access, std::uint64_t pause = kLatency) {
    now_ += pause;
    bool cached = false;
    for (const Extent& one : requested_) {
      cached = cached || (one.offset <= access.offset &&
                          access.offset + access.length <= one.offset + one.length);
    }
    const std::uint64_t duration = cached || always_cached ? kCached : kLatency;
    const bool wants = driven_.stream->saw_read(access, now_, duration);
    now_ += duration;
    if (!wants) return cached;
    ++plans;
    Extent out[kMostAhead];
    const unsigned n = driven_.stream->plan(out, file_bytes_);
    requested_.insert(requested_.end(), out, out + n);
    return cached;
  }

  const std::vector<Extent>& requested() const { return requested_; }
  // What was read ahead is gone from memory.
  void forget() { requested_.clear(); }
  Stream& stream() { return *driven_.stream; }

  bool always_cached = false;
  int plans = 0;

 private:
  Driven driven_;
  std::uint64_t file_bytes_, now_ = 1;
  std::vector<Extent> requested_;
};

TEST(Stream, AfterAFewReadsAStrideIsAlwaysAhead) {
  Storage storage;
  int waited = 0;
  for (std::int64_t i = 0; i < 200; ++i) waited += storage.read({i * 1'000'000, kBlock}) ? 0 : 1;
  EXPECT_LE(waited, 3);
  EXPECT_EQ(storage.stream().counts().hits, 200u - static_cast<unsigned>(waited));
  // Each once, and no more than the depth for nothing.
  std::set<std::int64_t> offsets;
  for (const Extent& one : storage.requested()) EXPECT_TRUE(offsets.insert(one.offset).second);
  EXPECT_LE(storage.requested().size(), 200u + storage.stream().counts().greatest_depth);
}

TEST(Stream, DepthFollowsLatencyAgainstTheTimeBetweenReads) {
  for (const auto& [pause, least, most] : {std::tuple{4 * kLatency, 2u, 3u},
                                           {kLatency, 2u, 4u},
                                           {kLatency / 8, 8u, 12u},
                                           {std::uint64_t{0}, 32u, 32u}}) {
    Storage storage;
    for (std::int64_t i = 0; i < 800; ++i) storage.read({i * 1'000'000, kBlock}, pause);
    EXPECT_GE(storage.stream().depth(), least) << pause;
    EXPECT_LE(storage.stream().depth(), most) << pause;
  }
}

// A program that reads without a pause, and ends: what was asked for beyond that is unused.
TEST(Stream, WhatMayStayUnusedIsAShareOfWhatWasRight) {
  for (const std::int64_t reads : {50, 250, 500}) {
    Storage storage;
    for (std::int64_t i = 0; i < reads; ++i) storage.read({i * 1'000'000, kBlock}, 0);
    storage.stream().end();
    const Counts& counts = storage.stream().counts();
    EXPECT_GE(counts.hits, static_cast<unsigned>(reads) - 4);
    EXPECT_LE(counts.requested - counts.hits, std::max<std::int64_t>(12, reads / 20)) << reads;
  }
}

// A plan of an earlier run knows where it ends.
TEST(Stream, WhoKnowsTheEndGoesAsDeepAsItTakes) {
  Driven driven("markov", true);
  Stream& stream = *driven.stream;
  Extent out[kMostAhead];
  std::uint64_t now = 1;
  // The second round is known from the first.
  for (std::int64_t i = 0; i < 100; ++i) {
    if (stream.saw_read({i % 60 * 1'000'000, kBlock}, now, kLatency)) {
      stream.plan(out, std::uint64_t{1} << 40);
    }
    now += kLatency;
  }
  EXPECT_GT(stream.counts().greatest_depth, 12);
}

// A step of a program reads six pieces and computes then: during that all six of the next step are
// requested, and not many more, though most reads follow at once upon the one before.
TEST(Stream, ABurstIsAheadBeforeItBegins) {
  Storage storage;
  int waited = 0;
  for (std::int64_t i = 0; i < 240; ++i) {
    const bool ahead = storage.read({i * 1'000'000, kBlock}, i % 6 == 0 ? 12 * kLatency : 0);
    if (i >= 12) waited += ahead ? 0 : 1;
  }
  EXPECT_EQ(waited, 0);
  EXPECT_GE(storage.stream().depth(), 6u);
  EXPECT_LE(storage.stream().depth(), 8u);
}

// A storage that gives no more however much is asked for: late hits do not make it ask for all.
TEST(Stream, LateHitsAtMostDoubleTheDepth) {
  Driven driven;
  Stream& stream = *driven.stream;
  Extent out[kMostAhead];
  std::uint64_t now = 1;
  for (std::int64_t i = 0; i < 500; ++i) {
    now += kLatency;
    const std::uint64_t duration = i < 4 ? kLatency : kLatency / 2;
    if (stream.saw_read({i * 1'000'000, kBlock}, now, duration)) stream.plan(out, UINT64_MAX);
    now += duration;
  }
  EXPECT_GE(stream.counts().late, 400u);
  EXPECT_LE(stream.counts().greatest_depth, 6u);
}

// Behind the end of a row reads are requested late, however deep it would be otherwise.
TEST(Stream, LateHitsBehindASurpriseSayNothing) {
  Driven driven;
  Stream& stream = *driven.stream;
  Extent out[kMostAhead];
  std::uint64_t now = 1;
  for (std::int64_t i = 0; i < 500; ++i) {
    const std::int64_t row = i / 12, at = i % 12;
    now += kLatency;
    const std::uint64_t duration = at == 0 ? kLatency : at < 3 ? kLatency / 2 : kCached;
    // No two rows are equally far apart.
    const Extent access{row * row * 400'000'000 + at * 1'000'000, kBlock};
    if (stream.saw_read(access, now, duration)) stream.plan(out, UINT64_MAX);
    now += duration;
  }
  EXPECT_GE(stream.counts().late, 40u);
  EXPECT_LE(stream.counts().greatest_depth, 3u);
}

// Towards the end of a file nothing new is expected, and the stream is not asked for some reads. If
// something else comes in that time, it is asked at once.
TEST(Stream, ASurpriseEndsTheRest) {
  constexpr std::int64_t kBlocks = 60;
  Storage storage("nest", kBlocks * 1'000'000);
  int waited = 0;
  for (std::int64_t pass = 0; pass < 12; ++pass) {
    // No two begin equally far from the end.
    for (std::int64_t i = pass * pass % 37; i < kBlocks; ++i) {  // other bytes each time
      waited += storage.read({i * 1'000'000 + pass * kBlock, kBlock}, kLatency / 8) ? 0 : 1;
    }
  }
  EXPECT_LE(waited, 14);  // 30 where it is let rest
}

TEST(Stream, NothingPastTheEndOfTheFile) {
  constexpr std::int64_t kFileBytes = 50 * 1'000'000 + 1000;
  Storage storage("nest", kFileBytes);
  for (std::int64_t i = 0; i < 51; ++i) storage.read({i * 1'000'000, i == 50 ? 1000 : kBlock}, 0);
  ASSERT_FALSE(storage.requested().empty());
  for (const Extent& one : storage.requested()) EXPECT_LE(one.offset + one.length, kFileBytes);
  EXPECT_EQ(storage.stream().counts().unused_bytes(), 0u);
}

TEST(Stream, ReadsOutOfMemoryAreLeftAlone) {
  Storage storage;
  storage.always_cached = true;
  for (std::int64_t i = 0; i < 1000; ++i) storage.read({i * 1'000'000, kBlock});
  EXPECT_EQ(storage.plans, 0);
  // Until they are not.
  storage.always_cached = false;
  int waited = 0;
  for (std::int64_t i = 1000; i < 1100; ++i)
    waited += storage.read({i * 1'000'000, kBlock}) ? 0 : 1;
  EXPECT_LE(waited, 4);
}

TEST(Stream, RandomReadsCostNothing) {
  Storage storage;
  std::mt19937_64 random(7);
  for (std::int64_t i = 0; i < 5000; ++i) {
    storage.read({static_cast<std::int64_t>(random() % 4096) * kBlock, kBlock});
  }
  storage.stream().end();
  const Counts& counts = storage.stream().counts();
  EXPECT_LE(counts.unused_bytes(), 5000 * kBlock / 20);
}

TEST(Stream, PlacesThatAreReadAgainAreAheadWithoutALoop) {
  for (const bool may : {false, true}) {
    Storage storage;
    std::vector<std::max_align_t> best(sizeof(patterns::BestPredictor) / sizeof(std::max_align_t) +
                                       1);
    std::mt19937 random(7);
    std::vector<Extent> places(1000);
    for (Extent& one : places)
      one = {static_cast<std::int64_t>(random() % 1000000) * kBlock, kBlock};
    int hits = 0, changes = 0;
    for (int pass = 0; pass < 3; ++pass) {
      hits = 0;
      for (const Extent& one : places) {
        hits += storage.read(one) ? 1 : 0;
        if (!may || !storage.stream().wants_best()) continue;
        storage.stream().go_on_with_best(reinterpret_cast<std::byte*>(best.data()));
        ++changes;
      }
      storage.forget();
    }
    EXPECT_EQ(changes, may ? 1 : 0);
    EXPECT_TRUE(may ? hits > 950 : hits < 50) << hits;
  }
}

TEST(Stream, LoopsAndReadsOutOfMemoryNeedNoMore) {
  Storage storage;
  for (std::int64_t i = 0; i < 1000; ++i) {
    storage.read({i % 20 * 1'000'000 + i / 20 * 100'000'000, kBlock});
    ASSERT_FALSE(storage.stream().wants_best()) << i;
  }
  Storage memory;
  memory.always_cached = true;
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    memory.read({static_cast<std::int64_t>(random() % 1000000) * kBlock, kBlock});
    ASSERT_FALSE(memory.stream().wants_best()) << i;
  }
}

TEST(Stream, GivesUpWhatMissesAndComesBack) {
  Storage storage;
  std::mt19937_64 random(7);
  for (std::int64_t i = 0; i < 100; ++i) storage.read({i * 1'000'000, kBlock});
  for (std::int64_t i = 0; i < 500; ++i) {
    storage.read({static_cast<std::int64_t>(random() % 100'000) * kBlock, kBlock});
  }
  EXPECT_EQ(storage.stream().depth(), 0u);
  int waited = 0;
  for (std::int64_t i = 0; i < 200; ++i) waited += storage.read({i * 3'000'000, kBlock}) ? 0 : 1;
  EXPECT_LE(waited, 12);
}

TEST(Stream, NoiseCostsLittle) {
  Storage storage;
  std::mt19937_64 random(7);
  int waited = 0, noise = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    if (random() % 100 == 0) {
      storage.read({static_cast<std::int64_t>(random() % 1'000'000'000'000), kBlock});
      ++noise;
    }
    waited += storage.read({i * 1'000'000, kBlock}) ? 0 : 1;
  }
  EXPECT_LE(waited, 3 + noise);
  EXPECT_LE(storage.stream().counts().unused_bytes(), 5000 * kBlock / 20);
}

TEST(Stream, NeighboursAreOneRequest) {
  Storage storage;
  for (std::int64_t i = 0; i < 200; ++i) storage.read({i * kBlock, kBlock}, kLatency / 16);
  std::int64_t bytes = 0;
  for (const Extent& one : storage.requested()) bytes += one.length;
  EXPECT_GE(bytes, 190 * kBlock);
  EXPECT_LE(storage.requested().size(), 190u / 2);
}

TEST(Stream, NoMoreAheadThanItsBytes) {
  constexpr std::int64_t kLarge = 8 << 20;
  Storage storage;
  for (std::int64_t i = 0; i < 50; ++i) storage.read({i * 2 * kLarge, kLarge}, 0);
  storage.stream().end();
  EXPECT_LE(storage.stream().counts().unused_bytes(), Limits{}.most_ahead_bytes);
  EXPECT_GE(storage.stream().counts().hits, 40u);
}

TEST(Stream, WhereNothingIsKeptItStopsAsking) {
  // Hits that last as long as a miss: no page cache, as with direct I/O.
  Driven driven;
  Stream& stream = *driven.stream;
  Extent out[kMostAhead];
  std::uint64_t now = 1;
  int plans = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    now += kLatency;
    if (stream.saw_read({i * 1'000'000, kBlock}, now, kLatency)) {
      stream.plan(out, std::uint64_t{1} << 40);
      ++plans;
    }
    now += kLatency;
  }
  EXPECT_LE(plans, 100);
}

TEST(Stream, EveryPredictorDrivesOne) {
  for (const char* kind : {"nest", "unit", "tree", "stride"}) {
    Storage storage(kind);
    int waited = 0;
    for (std::int64_t i = 0; i < 300; ++i) waited += storage.read({i * 1'000'000, kBlock}) ? 0 : 1;
    EXPECT_LE(waited, 40) << kind;
  }
}

TEST(Stream, AKnownOneIsTrustedAtOnce) {
  Driven driven("stride", true);
  Stream& stream = *driven.stream;
  EXPECT_TRUE(stream.saw_read({0, kBlock}, 1, kLatency));
}

TEST(Stream, StateIsSmall) {
  RecordProperty("stream_bytes", static_cast<int>(sizeof(Stream)));
  EXPECT_LE(sizeof(patterns::NestPredictor), 808u);
  EXPECT_LE(sizeof(Stream), 176u);
}

}  // namespace
}  // namespace iotune::prefetch
