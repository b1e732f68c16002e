#include "analyzer/baselines/he2013/unit.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/generators/drawing.h"

namespace iotune::he2013 {
namespace {

using Values = std::vector<std::int64_t>;

std::string texts(const Values& values, unsigned window = kWindow) {
  std::string all;
  for (const Unit& unit : find_units(values, window)) {
    all += unit.text() + " n=" + std::to_string(unit.count) + " ";
  }
  return all;
}

TEST(He2013Units, the_papers_worked_example) {
  const Values values = {0, 3, 7, 14, 17, 21, 28, 31, 35, 42, 46, 50, 54, 58};
  EXPECT_EQ(texts(values), "[0,(3,4,7)^3] n=9 [42,(4)^4] n=5 ");
}

TEST(He2013Units, the_papers_two_counts_are_both_units) {
  EXPECT_EQ(texts({5, 7, 10, 12, 15}), "[5,(2,3)^2] n=5 ");
  const Unit of_the_code{5, {2, 3}, 2, 4};
  EXPECT_EQ(expand(std::vector{of_the_code}), (Values{5, 7, 10, 12}));
}

TEST(He2013Units, predict_what_follows) {
  const Unit seven{0, {3, 4, 7}, 2, 7};
  EXPECT_EQ(seven.value(7), 31);
  EXPECT_EQ(seven.value(8), 35);
  EXPECT_EQ(seven.value(9), 42);
}

TEST(He2013Units, small_sequences) {
  EXPECT_EQ(texts({}), "");
  EXPECT_EQ(texts({7}), "[7] n=1 ");
  EXPECT_EQ(texts({7, 9}), "[7,(2)^1] n=2 ");
  EXPECT_EQ(texts({7, 9, 100}), "[7,(2)^1] n=2 [100] n=1 ");
  EXPECT_EQ(texts({7, 7, 7}), "[7,(0)^2] n=3 ");
  EXPECT_EQ(texts({9, 7, 5, 3}), "[9,(-2)^3] n=4 ");
  // A value that nothing leads on from, before a run.
  EXPECT_EQ(texts({0, 50, 51, 52, 53}), "[0] n=1 [50,(1)^3] n=4 ");
}

TEST(He2013Units, rows_end_where_a_delta_leads_to_the_next) {
  Values rows;
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 8; ++x) rows.push_back(1000 * y + 10 * x);
  }
  EXPECT_EQ(texts(rows), "[0,(10)^7] n=8 [1000,(10)^7] n=8 [2000,(10)^7] n=8 ");
}

TEST(He2013Units, a_period_beyond_the_window_is_not_seen) {
  Values period;
  for (int k = 0; k < 71; ++k) period.push_back(1000 * (k / 7) + k % 7 * (k % 7));
  EXPECT_GT(find_units(period, 6).size(), 10U);
  EXPECT_EQ(find_units(period, 7).size(), 1U);
}

TEST(He2013Units, lose_nothing) {
  generators::Drawing draw(42);
  for (int round = 0; round < 500; ++round) {
    const std::int64_t alphabet = draw.between(1, 5);
    Values values = {draw.between(-100, 100)};
    const std::int64_t count = draw.between(0, 60);
    for (std::int64_t k = 0; k < count; ++k) {
      values.push_back(values.back() + draw.between(-alphabet, alphabet));
    }
    const auto window = static_cast<unsigned>(draw.between(1, 9));
    const std::vector<Unit> units = find_units(values, window);
    ASSERT_EQ(expand(units), values) << round;
    ASSERT_EQ(count_of(units), values.size());
    for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(value_at(units, k), values[k]);
    const std::int64_t value = values[values.size() / 2];
    for (std::size_t k = 0; k <= values.size(); ++k) {
      const auto end = values.begin() + static_cast<std::ptrdiff_t>(k);
      ASSERT_EQ(occurrences(units, k, value),
                static_cast<std::uint64_t>(std::count(values.begin(), end, value)));
    }
  }
  EXPECT_THROW(value_at(find_units(Values{1, 2, 3}), 3), std::out_of_range);
}

TEST(He2013Units, differences_may_wrap) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  const Values values = {kLow, kHigh, kLow, kHigh, 0, kLow, -1, kHigh};
  EXPECT_EQ(expand(find_units(values)), values);
}

}  // namespace
}  // namespace iotune::he2013
