#include "analyzer/baselines/he2013/pattern_tree.h"

#include <gtest/gtest.h>

#include "tests/generators/catalogue.h"
#include "tests/generators/drawing.h"

namespace iotune::he2013 {
namespace {

using Values = std::vector<std::int64_t>;

std::string texts(const Values& values) {
  std::string all;
  for (const Node& node : find_tree(values)) all += text(node) + " ";
  return all;
}

// Rows and planes longer than the window: else a jump is taken for a part of a period.
TEST(He2013Tree, rows_in_planes_in_steps) {
  Values values;
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t y = 0; y < 9; ++y) {
      for (std::int64_t x = 0; x < 9; ++x) values.push_back(7 + 10000 * t + 100 * y + 3 * x);
    }
  }
  EXPECT_EQ(texts(values), "[7,(10000)^3]{(100)^8{(3)^8}} ");
  EXPECT_EQ(find_tree(values)[0].shape->depth(), 3U);
  EXPECT_EQ(find_tree(values)[0].shape->values(), values.size());
}

// Figure 18: patterns 1, 2 and 3 repeat as a whole.
TEST(He2013Tree, three_patterns_that_repeat_as_a_whole) {
  Values values;
  for (std::int64_t again = 0; again < 4; ++again) {
    const std::int64_t at = 5000 * again;
    for (std::int64_t k = 0; k < 6; ++k) values.push_back(at + 3 * k);
    for (std::int64_t k = 0; k < 4; ++k) values.push_back(at + 1000 + 7 * k);
    for (std::int64_t k = 0; k < 5; ++k) values.push_back(at + 3000 + 11 * k);
  }
  // The last time is not joined: nothing follows it, so that a delta to compare is missing.
  EXPECT_EQ(texts(values),
            "[0,(1000,2000,2000)^3]{(3)^5, (7)^3, (11)^4} [16000,(7)^3] [18000,(11)^4] ");
}

TEST(He2013Tree, starts_in_step_but_other_shapes_stay_apart) {
  Values values;
  for (std::int64_t row = 0; row < 4; ++row) {
    for (std::int64_t k = 0; k < 4 + row; ++k) values.push_back(1000 * row + 3 * k);
  }
  EXPECT_EQ(find_tree(values).size(), 4U);
  EXPECT_EQ(expand(find_tree(values)), values);
}

TEST(He2013Tree, loses_nothing) {
  EXPECT_EQ(texts({}), "");
  EXPECT_EQ(texts({4}), "[4] ");
  generators::Drawing draw(18);
  for (int round = 0; round < 300; ++round) {
    Values values;
    const std::int64_t count = draw.between(1, 80);
    const std::int64_t row = draw.between(2, 9);
    for (std::int64_t k = 0; k < count; ++k) {
      values.push_back(k / row * 100 + k % row * 3 + (draw.percent(5) ? 1 : 0));
    }
    ASSERT_EQ(expand(find_tree(values)), values) << round;
  }
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    for (const generators::Stream& stream : row.make().streams) {
      Values offsets;
      for (const patterns::Extent& access : stream.accesses) offsets.push_back(access.offset);
      ASSERT_EQ(expand(find_tree(offsets)), offsets) << row.name;
    }
  }
}

}  // namespace
}  // namespace iotune::he2013
