// Several writers against an array that knows, byte by byte, which of their entries holds: as it
// was left, after a death at any byte, and with damage. What was synced is there, and nothing is
// invented.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "fake_files.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {
namespace {

using testing::FakeClock;
using testing::FakeWriter;
using testing::kId;

constexpr std::int64_t kSpan = 400;  // bytes of the file that are looked at
constexpr int kNobody = -1;

// A write, or a hole that has no place in a log.
struct Event {
  std::uint32_t writer;
  std::int64_t offset, length, physical;
  bool hole, truncates;
  bool synced = false;

  bool covers(std::int64_t byte) const { return byte >= offset && byte - offset < length; }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : draw_(seed) {
    zero_steps_ = draw_() % 4 == 0;
    // Two looks at the clock never agree here: the order of all entries is known.
    clock_.step = [this] {
      return zero_steps_ ? std::int64_t{1} : static_cast<std::int64_t>(1 + draw_() % 5000);
    };
    const std::size_t count = 1 + draw_() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      writers_.push_back(std::make_unique<FakeWriter>(
          "w" + std::to_string(i), clock_,
          LogWriterSizes{.terms = static_cast<std::uint32_t>(16 + draw_() % 40),
                         .knots = static_cast<std::uint32_t>(3 + draw_() % 30)}));
    }
  }

  std::size_t below(std::uint64_t limit) { return static_cast<std::size_t>(draw_() % limit); }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) step();
  }

  void step() {
    const auto writer = static_cast<std::uint32_t>(below(writers_.size()));
    switch (below(24)) {
      case 0:
        return hole(writer, static_cast<std::int64_t>(below(kSpan)), 0);
      case 1:
        return hole(writer, static_cast<std::int64_t>(below(kSpan)),
                    static_cast<std::int64_t>(1 + below(60)));
      case 2:
      case 3:
        ASSERT_EQ(writers_[writer]->writer.sync(), 0);
        for (Event& event : events_) event.synced = event.synced || event.writer == writer;
        return;
      case 4:
        ASSERT_EQ(writers_[writer]->writer.flush(), 0);
        return;
      case 5:
      case 6: {  // a loop, forwards, backwards or in place
        const auto start = static_cast<std::int64_t>(below(kSpan / 2));
        const auto stride = static_cast<std::int64_t>(below(40)) - 10;
        const auto length = static_cast<std::int64_t>(1 + below(9));
        const auto growth = static_cast<std::int64_t>(below(4) == 0 ? 1 : 0);
        for (std::int64_t k = static_cast<std::int64_t>(below(12)); k >= 0; --k) {
          const std::int64_t at = start + stride * k;
          if (at >= 0 && at < kSpan - 20) write(writer, at, length + growth * k);
        }
        return;
      }
      default:
        write(writer, static_cast<std::int64_t>(below(kSpan - 20)),
              static_cast<std::int64_t>(1 + below(20)));
    }
  }

  void close() {
    for (const auto& one : writers_) ASSERT_EQ(one->writer.close(), 0);
  }

  LogMap merge(const std::vector<std::vector<std::byte>>& indexes,
               const std::vector<std::int64_t>& logs) {
    std::vector<WriterBytes> bytes;
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      bytes.push_back({writers_[i]->name, indexes[i], logs[i]});
    }
    auto map = LogMap::merge(kId, std::move(bytes), reports_);
    EXPECT_TRUE(map) << map.error().text();
    return std::move(*map);
  }
  std::vector<std::vector<std::byte>> indexes() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& one : writers_) all.push_back(one->index.bytes);
    return all;
  }
  std::vector<std::int64_t> logs() const {
    std::vector<std::int64_t> all;
    for (const auto& one : writers_) {
      all.push_back(static_cast<std::int64_t>(one->log.bytes.size()));
    }
    return all;
  }

  // Whose byte it is by the map: an event, kNobody for a hole, kMissing for what is lost.
  static constexpr int kMissing = -2;
  std::vector<int> found(const LogMap& map) {
    std::vector<int> owners(kSpan, kNobody);
    std::int64_t next = 0;
    map.for_each_piece(0, kSpan, [&](const LogPiece& piece) {
      ASSERT_EQ(piece.offset, next);
      ASSERT_GT(piece.length, 0);
      next = piece.end();
      for (std::int64_t i = 0; i < piece.length; ++i) {
        int& owner = owners[static_cast<std::size_t>(piece.offset + i)];
        if (piece.kind == LogPiece::Kind::kMissing) owner = kMissing;
        if (piece.kind != LogPiece::Kind::kData) continue;
        owner = event_at(piece.writer, piece.physical + i, piece.offset + i);
        ASSERT_NE(owner, kNobody) << "invented at " << piece.offset + i;
      }
    });
    EXPECT_EQ(next, std::min<std::int64_t>(kSpan, map.size()));
    return owners;
  }

  // Nothing was lost: every byte and the size are the last entry's.
  void expect_all(const LogMap& map) {
    std::int64_t size = 0;
    std::vector<int> last(kSpan, kNobody);
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      if (event.truncates) size = event.offset;
      if (!event.hole) size = std::max(size, event.offset + event.length);
      for (std::int64_t byte = 0; byte < kSpan; ++byte) {
        if (!event.covers(byte)) continue;
        last[static_cast<std::size_t>(byte)] = event.hole ? kNobody : static_cast<int>(e);
      }
    }
    EXPECT_EQ(map.size(), size);
    EXPECT_EQ(found(map), last);
  }

  // After a death: the last synced entry's, or a later one's.
  void expect_synced(const LogMap& map) {
    const std::vector<int> owners = found(map);
    bool all_synced = true;
    for (const Event& event : events_) all_synced = all_synced && event.synced;
    for (std::int64_t byte = 0; byte < kSpan; ++byte) {
      const int owner = owners[static_cast<std::size_t>(byte)];
      bool allowed = owner == kNobody;
      for (std::size_t e = 0; e < events_.size(); ++e) {
        const Event& event = events_[e];
        if (!event.covers(byte)) continue;
        const bool is_it = event.hole ? owner == kNobody : owner == static_cast<int>(e);
        allowed = is_it || (allowed && !event.synced);
      }
      ASSERT_TRUE(allowed) << "byte " << byte << " is of event " << owner;
    }
    if (all_synced) expect_all(map);
  }

  const std::vector<std::unique_ptr<FakeWriter>>& writers() const { return writers_; }
  const std::vector<WriterReport>& reports() const { return reports_; }

 private:
  void write(std::uint32_t writer, std::int64_t offset, std::int64_t length) {
    FakeWriter& to = *writers_[writer];
    const std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    const std::int64_t physical = to.writer.log_bytes();
    ASSERT_EQ(to.writer.append(offset, bytes.data(), bytes.size()), length);
    events_.push_back({writer, offset, length, physical, false, false});
  }
  void hole(std::uint32_t writer, std::int64_t offset, std::int64_t length) {
    const bool truncates = length == 0;
    ASSERT_EQ(truncates ? writers_[writer]->writer.truncate(offset)
                        : writers_[writer]->writer.punch(offset, length),
              0);
    events_.push_back({writer, offset, truncates ? kLargestFile : length, 0, true, truncates});
  }

  int event_at(std::uint32_t writer, std::int64_t physical, std::int64_t byte) const {
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      if (!event.hole && event.writer == writer && event.covers(byte) &&
          event.physical + (byte - event.offset) == physical) {
        return static_cast<int>(e);
      }
    }
    return kNobody;
  }

  std::mt19937_64 draw_;
  bool zero_steps_ = false;
  FakeClock clock_;
  std::vector<std::unique_ptr<FakeWriter>> writers_;
  std::vector<Event> events_;
  std::vector<WriterReport> reports_;
};

TEST(RandomLog, every_byte_is_the_last_entrys) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    random.run(1 + random.below(120));
    random.close();
    random.expect_all(random.merge(random.indexes(), random.logs()));
    if (HasFailure()) FAIL() << "seed " << seed;
    for (const WriterReport& report : random.reports()) {
      ASSERT_TRUE(report.is_whole() && report.dropped_bytes == 0 && report.unplaced_bytes == 0);
    }
  }
}

TEST(RandomLog, what_was_synced_is_there_after_a_death_at_any_byte) {
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    Random random(seed);
    random.run(1 + random.below(100));
    if (random.below(2) == 0) random.close();
    for (int cut = 0; cut < 8; ++cut) {
      auto indexes = random.indexes();
      auto logs = random.logs();
      for (std::size_t i = 0; i < logs.size(); ++i) {
        const FakeWriter& writer = *random.writers()[i];
        indexes[i].resize(writer.index.synced +
                          random.below(indexes[i].size() - writer.index.synced + 1));
        logs[i] -= static_cast<std::int64_t>(
            random.below(static_cast<std::uint64_t>(logs[i]) - writer.log.synced + 1));
      }
      random.expect_synced(random.merge(indexes, logs));
      if (HasFailure()) FAIL() << "seed " << seed << ", cut " << cut;
      for (const WriterReport& report : random.reports()) ASSERT_EQ(report.missing_bytes, 0);
    }
  }
}

TEST(RandomLog, damage_of_any_kind_invents_nothing) {
  for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
    Random random(seed);
    random.run(1 + random.below(80));
    random.close();
    for (int round = 0; round < 12; ++round) {
      auto indexes = random.indexes();
      auto logs = random.logs();
      const std::size_t i = random.below(logs.size());
      switch (random.below(4)) {
        case 0:
          indexes[i].resize(random.below(indexes[i].size() + 1));
          break;
        case 1:
          logs[i] =
              static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(logs[i]) + 1));
          break;
        case 2:
          // Behind the head: what that says of versions is an error.
          if (indexes[i].size() == kHeadBytes) break;
          indexes[i][kHeadBytes + random.below(indexes[i].size() - kHeadBytes)] ^=
              static_cast<std::byte>(1 + random.below(255));
          break;
        default:
          if (indexes[i].size() == kHeadBytes) break;
          indexes[i].erase(indexes[i].begin() +
                           static_cast<std::ptrdiff_t>(
                               kHeadBytes + random.below(indexes[i].size() - kHeadBytes)));
      }
      random.found(random.merge(indexes, logs));
      if (HasFailure()) FAIL() << "seed " << seed << ", round " << round;
    }
  }
}

TEST(RandomLog, a_log_that_lost_what_was_synced_is_missing_and_not_zero) {
  FakeClock clock;
  FakeWriter a("a", clock);
  const char bytes[8] = {};
  for (int i = 0; i < 10; ++i) a.writer.append(i * 8, bytes, 8);
  ASSERT_EQ(a.writer.sync(), 0);
  for (int i = 0; i < 10; ++i) a.writer.append(i * 8, bytes, 8);  // over it, and not synced
  ASSERT_EQ(a.writer.flush(), 0);
  for (std::int64_t log = 0; log <= 160; ++log) {
    std::vector<WriterReport> reports;
    auto map = LogMap::merge(kId, {{"a", a.index.bytes, log}}, reports);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->size(), 80);
    EXPECT_EQ(reports[0].missing_bytes, std::max<std::int64_t>(0, 80 - log));
    EXPECT_EQ(reports[0].dropped_bytes, log >= 80 ? 80 - (log - 80) / 8 * 8 : 80);
    std::int64_t missing = 0;
    for (const LogPiece& piece : map->pieces(0, 80)) {
      EXPECT_NE(piece.kind, LogPiece::Kind::kHole);
      if (piece.kind == LogPiece::Kind::kMissing) missing += piece.length;
    }
    EXPECT_EQ(missing, reports[0].missing_bytes);
  }
}

}  // namespace
}  // namespace iotune::logstore
