// Overlaps of drawn loops, against every access of one beside every access of the other.
#include "analyzer/order/count_overlaps.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/unit/drawn_cases.h"

namespace iotune::analyzer {
namespace {

using Draw = std::mt19937_64;

std::int64_t between(Draw& draw, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(draw);
}

AccessRun drawn_run(Draw& draw) {
  AccessRun run;
  run.start = between(draw, 0, 200);
  run.length = between(draw, 1, 12);
  run.segment = static_cast<std::uint64_t>(between(draw, 0, 5));
  const std::int64_t levels = between(draw, 0, 3);
  std::int64_t span = 0;  // of segments
  for (std::int64_t i = 0; i < levels; ++i) {
    const std::int64_t count = between(draw, 2, 7);
    const std::int64_t step =
        between(draw, 0, 1) == 0 && span == 0 ? 0 : span + between(draw, 0, 3);
    // Often strides that both runs have.
    const std::int64_t stride =
        between(draw, 0, 1) == 0 ? 8 * between(draw, -4, 8) : between(draw, -20, 60);
    run.levels.insert(run.levels.begin(), {stride, count, step});
    span += step * (count - 1);
  }
  return run;
}

using Take = std::function<void(std::int64_t start, std::uint64_t segment)>;

void each_access(const AccessRun& run, const Take& take, std::size_t level = 0,
                 std::int64_t start = 0, std::uint64_t segment = 0) {
  if (level == run.levels.size()) {
    take(run.start + start, run.segment + segment);
    return;
  }
  const RunLevel& loop = run.levels[level];
  for (std::int64_t i = 0; i < loop.count; ++i) {
    each_access(run, take, level + 1, start + i * loop.stride,
                segment + static_cast<std::uint64_t>(i * loop.segment_step));
  }
}

struct Segments {
  std::uint64_t from = 0, until = UINT64_MAX;
  bool has(std::uint64_t segment) const { return from <= segment && segment < until; }
};

std::uint64_t pairs_one_by_one(const AccessRun& a, Segments of_a, const AccessRun& b,
                               Segments of_b) {
  std::uint64_t pairs = 0;
  each_access(a, [&](std::int64_t first, std::uint64_t at) {
    if (!of_a.has(at)) return;
    each_access(b, [&](std::int64_t second, std::uint64_t then) {
      if (of_b.has(then) && first < second + b.length && second < first + a.length) ++pairs;
    });
  });
  return pairs;
}

std::string text_of(const AccessRun& run) {
  std::string text = std::to_string(run.start) + "+" + std::to_string(run.length) + " in " +
                     std::to_string(run.segment);
  for (const RunLevel& level : run.levels) {
    text += " (" + std::to_string(level.stride) + " x " + std::to_string(level.count) + ", " +
            std::to_string(level.segment_step) + ")";
  }
  return text;
}

TEST(CountOverlaps, AreThoseOfAllPairs) {
  Draw draw(54);
  for (std::uint64_t i = 0; i < testing::drawn_cases(30000); ++i) {
    const AccessRun a = drawn_run(draw), b = drawn_run(draw);
    const std::uint64_t pairs = pairs_one_by_one(a, {}, b, {});
    ASSERT_EQ(count_overlaps(a, b), pairs) << text_of(a) << " and " << text_of(b);
    ASSERT_EQ(count_overlaps(b, a), pairs) << text_of(a) << " and " << text_of(b);
    const auto one = one_overlap(a, b);
    ASSERT_EQ(one.has_value(), pairs > 0);
    if (!one) continue;
    ASSERT_TRUE(one->first.levels.empty() && one->second.levels.empty());
    ASSERT_EQ(pairs_one_by_one(one->first, {}, one->second, {}), 1U);
    bool is_of_a = false;
    each_access(a, [&](std::int64_t start, std::uint64_t segment) {
      is_of_a = is_of_a || (start == one->first.start && segment == one->first.segment);
    });
    ASSERT_TRUE(is_of_a) << text_of(a);
  }
}

TEST(CountOverlaps, SegmentsAreClipped) {
  Draw draw(55);
  for (std::uint64_t i = 0; i < testing::drawn_cases(12000); ++i) {
    const AccessRun a = drawn_run(draw), b = drawn_run(draw);
    const auto drawn_segments = [&] {
      const auto from = static_cast<std::uint64_t>(between(draw, 0, 20));
      return Segments{from, from + static_cast<std::uint64_t>(between(draw, 0, 20))};
    };
    const Segments of_a = drawn_segments(), of_b = drawn_segments();
    std::vector<AccessRun> parts_a, parts_b;
    clip_segments(a, of_a.from, of_a.until, parts_a);
    clip_segments(b, of_b.from, of_b.until, parts_b);
    std::uint64_t pairs = 0;
    for (const AccessRun& x : parts_a) {
      for (const AccessRun& y : parts_b) pairs += count_overlaps(x, y);
    }
    ASSERT_EQ(pairs, pairs_one_by_one(a, of_a, b, of_b))
        << text_of(a) << " in [" << of_a.from << ", " << of_a.until << ") and " << text_of(b)
        << " in [" << of_b.from << ", " << of_b.until << ")";
  }
}

// Too many for one by one: counts that can be reckoned by hand.
TEST(CountOverlaps, OfManyAccesses) {
  constexpr std::int64_t kMany = 1'000'000;
  const AccessRun line{0, 0, true, 0, 0, 8, {{8, kMany, 0}}};
  EXPECT_EQ(count_overlaps(line, line), kMany);
  const AccessRun shifted{0, 0, true, 0, 4, 8, {{8, kMany, 0}}};
  EXPECT_EQ(count_overlaps(line, shifted), 2 * kMany - 1);
  // Each 8 of one beside 3 of the other, everywhere.
  const AccessRun whole{0, 0, true, 0, 0, 8 * kMany, {{0, kMany, 0}}};
  EXPECT_EQ(count_overlaps(whole, line), static_cast<std::uint64_t>(kMany) * kMany);
  // Neighbours: rows of 16 columns that two ranks share, 4 bytes each.
  const AccessRun left{0, 0, true, 0, 0, 4, {{64, kMany, 0}, {8, 8, 0}}};
  const AccessRun right{0, 0, true, 0, 4, 4, {{64, kMany, 0}, {8, 8, 0}}};
  EXPECT_EQ(count_overlaps(left, right), 0U);
  EXPECT_EQ(count_overlaps(left, left), 8U * kMany);
}

}  // namespace
}  // namespace iotune::analyzer
