// Every entry's time lies in the interval in which it was made, whatever the clock says, and a
// regular program needs few knots.
#include "logstore/write/time_line.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "analyzer/index/stream_times.h"

namespace iotune::logstore {
namespace {

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};

// Takes the knots from the line whenever it is full, and at `settle_every` entries.
std::vector<analyzer::TimeKnot> knots_of(const std::vector<Interval>& intervals,
                                         std::size_t capacity, std::size_t settle_every) {
  std::vector<Knot> memory(capacity);
  TimeLine line(memory);
  std::vector<analyzer::TimeKnot> knots;
  const auto take = [&] {
    line.settle();
    for (const Knot& knot : line.knots()) knots.push_back({knot.position, knot.time});
    line.drop_knots();
  };
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (!line.has_room() || (settle_every != 0 && i % settle_every == 0)) take();
    line.add(intervals[i].begin, intervals[i].end);
  }
  take();
  EXPECT_EQ(line.entries(), static_cast<std::int64_t>(intervals.size()));
  return knots;
}

void expect_within(const std::vector<Interval>& intervals,
                   const std::vector<analyzer::TimeKnot>& knots) {
  auto tidy = knots;
  ASSERT_FALSE(analyzer::tidy_knots(tidy));
  const analyzer::StreamTimes times({{0, tidy}});
  std::int64_t clock = INT64_MIN;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::int64_t begin = std::max(clock, intervals[i].begin);
    const std::int64_t end = std::max(begin, intervals[i].end);
    const std::int64_t time = times.at(0, static_cast<std::int64_t>(i));
    ASSERT_GE(time, begin + (end > begin ? 1 : 0)) << i;
    ASSERT_LE(time, end) << i;
    clock = end;
  }
}

TEST(TimeLine, a_time_lies_within_its_entry) {
  std::mt19937_64 draw(42);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t gaps = std::uint64_t{1} << draw() % 24;
    const std::uint64_t lengths = std::uint64_t{1} << draw() % 24;
    std::vector<Interval> intervals;
    std::int64_t now = static_cast<std::int64_t>(draw() % 1000);
    for (std::size_t i = draw() % 300; i > 0; --i) {
      const std::int64_t begin = now + static_cast<std::int64_t>(draw() % gaps);
      const std::int64_t end = begin + static_cast<std::int64_t>(draw() % lengths);
      intervals.push_back({begin, end});
      now = draw() % 32 == 0 ? end - static_cast<std::int64_t>(draw() % 100) : end;
      if (draw() % 64 == 0) now += std::int64_t{1} << 43;
    }
    expect_within(intervals, knots_of(intervals, 3 + draw() % 20, draw() % 3 * 17));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(TimeLine, equal_times_are_one_line) {
  std::vector<Interval> intervals;
  for (std::int64_t i = 0; i < 100000; ++i) intervals.push_back({i * 1000, i * 1000 + 800});
  const auto knots = knots_of(intervals, 64, 0);
  expect_within(intervals, knots);
  EXPECT_EQ(knots.size(), 2U);
}

TEST(TimeLine, jitter_costs_a_knot_now_and_then) {
  std::mt19937_64 draw(42);
  std::vector<Interval> intervals;
  std::int64_t now = 0;
  for (std::int64_t i = 0; i < 100000; ++i) {
    // 10 microseconds, give or take a tenth, and 200 ns between two.
    const std::int64_t end = now + 9000 + static_cast<std::int64_t>(draw() % 2000);
    intervals.push_back({now, end});
    now = end + 200;
  }
  const auto knots = knots_of(intervals, 64, 0);
  expect_within(intervals, knots);
  RecordProperty("knots", static_cast<int>(knots.size()));
  EXPECT_LT(knots.size(), 3000U);
}

TEST(TimeLine, a_clock_that_stands_still_and_nothing_at_all) {
  const std::vector<Interval> still(50, Interval{7, 7});
  expect_within(still, knots_of(still, 8, 0));
  EXPECT_TRUE(knots_of({}, 8, 0).empty());
}

}  // namespace
}  // namespace iotune::logstore
