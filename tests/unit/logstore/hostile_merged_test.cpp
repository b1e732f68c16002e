// Merged indexes that nobody's compaction wrote, under right checksums: none of them makes a map
// that leaves its logs or its file, and none costs more than the limits allow.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "logstore/format.h"
#include "logstore/read/log_map.h"
#include "logstore/read/merged_index.h"

namespace iotune::logstore {
namespace {

constexpr std::uint64_t kId = 7;
constexpr ReadLimits kLimits{.writers = 64, .entries = 4096};

MergedIndex small() {
  MergedIndex merged;
  merged.container_id = kId;
  merged.generation = 3;
  merged.size = 1000;
  merged.covered = {{100, 500}, {0, 500}};
  merged.retired = {"node1.5.0"};
  merged.parts.ends = {{5, 500}, {5, 500}};
  merged.parts.names = analyzer::StreamNames({"a", "b"});
  merged.parts.slots = {0, 1};
  merged.parts.nests = {{0, 100, 0, 0, 0, {{200, 5, 1, 100, 0}}}};
  merged.parts.segments = {{100, 100, 0, 0, 1}};
  merged.parts.knots = {{0, {{0, 5}, {4, 9}}}};
  return merged;
}

std::string problem(const MergedIndex& merged) {
  const auto read = read_merged_index(write_merged_index(merged), kId, kLimits);
  if (!read) return read.error().text();
  return read->merged ? "" : read->damage;
}

TEST(HostileMerged, what_was_written_comes_back) {
  const MergedIndex merged = small();
  const auto read = read_merged_index(write_merged_index(merged), kId, kLimits);
  ASSERT_TRUE(read && read->merged) << (read ? read->damage : read.error().text());
  EXPECT_EQ(read->merged->generation, 3U);
  EXPECT_EQ(read->merged->size, 1000);
  EXPECT_EQ(read->merged->covered[0].index_bytes, 100);
  EXPECT_EQ(read->merged->retired, merged.retired);
  EXPECT_EQ(read->merged->parts.segments, merged.parts.segments);
  EXPECT_EQ(read->merged->parts.knots, merged.parts.knots);
}

TEST(HostileMerged, numbers_that_no_compaction_writes_are_damage) {
  const auto with = [](const std::function<void(MergedIndex&)>& change) {
    MergedIndex merged = small();
    change(merged);
    return problem(merged);
  };
  EXPECT_EQ(with([](MergedIndex&) {}), "");
  EXPECT_EQ(with([](MergedIndex& m) { m.container_id = 8; }),
            "merged.index: is of another container");
  EXPECT_EQ(with([](MergedIndex& m) { m.size = -1; }), "has no size");
  EXPECT_EQ(with([](MergedIndex& m) { m.size = INT64_MAX; }), "has no size");
  EXPECT_EQ(with([](MergedIndex& m) { m.covered[0].log_bytes = INT64_MAX; }),
            "has a damaged list");
  EXPECT_EQ(with([](MergedIndex& m) { m.covered[0].index_bytes = -1; }), "has a damaged list");
  EXPECT_EQ(with([](MergedIndex& m) { m.covered.pop_back(); }), "has writers without a name");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.names = analyzer::StreamNames({"a", "../b"}); }),
            "has a name that no writer has");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.names = analyzer::StreamNames({"a", "a"}); }),
            "has a name that no writer has");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.names = analyzer::StreamNames({"a"}); }),
            "has writers without a name");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.knots[0][0].time = -1; }),
            "has times of no compaction");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.knots[0][1].time = kMergedTimes; }),
            "has times of no compaction");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.nests[0].levels[0].count = INT64_MAX; }),
            "has entries of no index");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.nests[0].slot = 9; }), "has entries of no index");
  EXPECT_EQ(with([](MergedIndex& m) { m.parts.segments[0].physical = INT64_MAX; }),
            "has entries of no index");
  EXPECT_EQ(with([](MergedIndex& m) { m.covered.resize(65); }), "has a damaged list");
}

TEST(HostileMerged, places_beyond_a_log_are_missing_and_never_read) {
  MergedIndex merged = small();
  merged.parts.segments[0].physical = 450;
  const auto read = read_merged_index(write_merged_index(merged), kId, kLimits);
  ASSERT_TRUE(read && read->merged);
  std::vector<WriterReport> reports;
  const CoveredBytes covered{*read->merged, {500, 500}};
  const auto map = LogMap::merge(kId, {}, reports, kLimits, &covered);
  ASSERT_TRUE(map);
  std::int64_t missing = 0;
  for (const LogPiece& piece : map->pieces(0, 1000)) {
    if (piece.kind == LogPiece::Kind::kMissing) missing += piece.length;
    if (piece.kind == LogPiece::Kind::kData) {
      EXPECT_LE(piece.physical + piece.length, 500);
    }
  }
  EXPECT_EQ(missing, 50);
}

TEST(HostileMerged, any_bytes_end) {
  const std::vector<std::byte> whole = write_merged_index(small());
  std::mt19937_64 draw(5);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (std::uint64_t k = draw() % 4; k-- > 0;) {
      bytes[draw() % bytes.size()] = static_cast<std::byte>(draw());
    }
    if (draw() % 4 == 0) bytes.resize(draw() % bytes.size());
    const auto read = read_merged_index(bytes, kId, kLimits);
    if (read) {
      EXPECT_TRUE(read->merged || !read->damage.empty());
    }
  }
}

}  // namespace
}  // namespace iotune::logstore
