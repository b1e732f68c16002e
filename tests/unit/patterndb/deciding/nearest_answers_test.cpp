// Of many answers the index finds the same nearest ones as a comparison with all.
#include "patterndb/matching/nearest_answers.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <random>

#include "patterndb/store/pattern_db.h"
#include "patterndb/store/rows.h"
#include "patterndb/store/schema.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

// Contiguous blocks or columns, on few to many ranks.
Pattern drawn(std::mt19937& draw) {
  const auto below = [&](std::uint64_t n) { return 1 + draw() % n; };
  Pattern pattern = one_dimensional(below(1 << 20), 8, std::uint64_t{1} << below(10));
  if (draw() % 2 == 0) {
    pattern.descriptor.dimensions.insert(pattern.descriptor.dimensions.begin(),
                                         {analyzer::Distribution::kWhole, below(1 << 12), 1});
    pattern.dataset_dims.insert(pattern.dataset_dims.begin(),
                                pattern.descriptor.dimensions[0].count);
    pattern.grid = {1, pattern.ranks};
  }
  if (draw() % 4 == 0) pattern.mode = "collective";
  return pattern;
}

class ManyAnswers : public ::testing::Test {
 protected:
  sqlite::Connection db_{"memory", ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY};
  std::vector<std::pair<std::string, Pattern>> answered_;

  void SetUp() override {
    for (int step = 0; step < kSchemaVersion; ++step) db_.execute(kSchemaSteps[step]);
  }
  void fill(int patterns, std::mt19937& draw) {
    sqlite::Transaction transaction(db_, sqlite::Transaction::Kind::kWrite);
    const std::int64_t here = rows::platform(db_, local_platform("ext4"));
    const std::int64_t elsewhere = rows::platform(db_, local_platform("lustre"));
    const std::int64_t settings = rows::settings(db_, "cb_nodes=2");
    for (int i = 0; i < patterns; ++i) {
      const Pattern pattern = drawn(draw);
      const std::int64_t id = rows::pattern(db_, pattern);
      const bool ours = draw() % 8 != 0;
      Tuning evidence = tuned(pattern, "cb_nodes=2", i);
      if (draw() % 8 == 0) evidence.state = State::kUntrained;
      rows::tuning(db_, {id, ours ? here : elsewhere, settings}, evidence);
      if (ours && evidence.state != State::kUntrained) {
        answered_.emplace_back(byte_key(pattern), pattern);
      }
    }
    transaction.commit();
  }
  // By a look at each.
  std::vector<double> all_distances(const std::string& key, const Pattern& asked,
                                    const Geometry& own, std::size_t most) {
    std::map<std::string, double> nearest;
    for (const auto& [other_key, other] : answered_) {
      Geometry geometry;
      const bool far = other.ranks < asked.ranks / 4 || other.ranks > asked.ranks * 4;
      if (other_key == key || far || !incomparable(asked, other).empty()) continue;
      if (geometry_of(other, geometry)) {
        nearest[other_key] = distance(own, asked.ranks, geometry, other.ranks);
      }
    }
    std::vector<double> distances;
    for (const auto& [other, apart] : nearest) distances.push_back(apart);
    std::sort(distances.begin(), distances.end());
    distances.resize(std::min(distances.size(), most));
    return distances;
  }
};

class NearestAnswers : public ManyAnswers, public ::testing::WithParamInterface<int> {};

TEST_P(NearestAnswers, AreThoseOfAComparisonWithAll) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);
  fill(GetParam(), draw);
  for (int i = 0; i < 20; ++i) {
    const Pattern asked = drawn(draw);
    Geometry own;
    ASSERT_TRUE(geometry_of(asked, own));
    const std::string key = byte_key(asked);
    std::vector<double> found;
    for (const NearPattern& near :
         nearest_answers(db_, key, asked, own, local_platform("ext4"), 16)) {
      found.push_back(near.distance);
    }
    const std::vector<double> expected = all_distances(key, asked, own, 16);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], expected[n], 1e-9) << n;
  }
}

// One by one, and by the index.
INSTANTIATE_TEST_SUITE_P(FewAndMany, NearestAnswers, ::testing::Values(300, 3000));

TEST_F(ManyAnswers, APatternOfAnOlderSchemaIsGivenItsPlace) {
  std::mt19937 draw(1);
  fill(50, draw);
  db_.execute(
      "CREATE TABLE kept AS SELECT * FROM patterns; UPDATE patterns SET wall = NULL, "
      "piece_doublings = NULL, pieces_doublings = NULL");
  fill_geometry(db_);
  sqlite::Statement other(db_,
                          "SELECT count(*) FROM kept k JOIN patterns p ON p.id = k.id WHERE "
                          "p.wall IS k.wall AND p.piece_doublings IS k.piece_doublings AND "
                          "p.pieces_doublings IS k.pieces_doublings AND p.wall IS NOT NULL");
  ASSERT_TRUE(other.step());
  EXPECT_GE(other.integer(0), 40);
}

}  // namespace
}  // namespace iotune::patterndb::testing
