// The comparators: the papers' unit, the pattern tree, Markov by blocks, a stride, reading ahead,
// and the plan of an earlier run.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "patterns/predict/baselines/markov_predictor.h"
#include "patterns/predict/baselines/simple_predictors.h"
#include "patterns/predict/baselines/tree_predictor.h"
#include "patterns/predict/baselines/unit_finder.h"
#include "patterns/predict/baselines/unit_predictor.h"
#include "patterns/predict/recorded_plan.h"
#include "predict_test_streams.h"

namespace iotune::patterns {
namespace {

using testing::Accesses;
using testing::count_right;
using testing::nest;
using testing::next_of;

Accesses at(const std::vector<std::int64_t>& offsets, std::int64_t length = 1) {
  Accesses made;
  for (const std::int64_t offset : offsets) made.push_back({offset, length});
  return made;
}

std::vector<Unit> units_of(const std::vector<std::int64_t>& deltas) {
  std::vector<Unit> units(deltas.size());
  units.resize(find_units(deltas, units));
  return units;
}

// The worked example: [0,(3,4,7)^3],[42,(4)^4].
TEST(UnitFinder, PapersDeltas) {
  const std::vector<std::int64_t> deltas = {3, 4, 7, 3, 4, 7, 3, 4, 7, 4, 4, 4, 4};
  const std::vector<Unit> units = units_of(deltas);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].size, 3U);
  EXPECT_EQ(units[0].repeats, 3U);
  EXPECT_EQ(deltas[units[0].first], 3);
  EXPECT_EQ(units[1].size, 1U);
  EXPECT_EQ(units[1].repeats, 4U);
  EXPECT_EQ(deltas[units[1].first], 4);
}

TEST(UnitFinder, APeriodLongerThanTheWindowIsNotSeen) {
  std::vector<std::int64_t> deltas;
  for (int i = 0; i < 21; ++i) deltas.push_back(i % 7 + 1);
  EXPECT_EQ(units_of(deltas).size(), deltas.size());
  std::vector<Unit> units(deltas.size());
  EXPECT_LT(find_units(deltas, units, 7), deltas.size());
}

TEST(UnitFinder, UnitsCoverAllDeltasInOrder) {
  std::mt19937_64 random(7);
  for (int draw = 0; draw < 2000; ++draw) {
    std::vector<std::int64_t> deltas(random() % 60);
    for (std::int64_t& delta : deltas) delta = static_cast<std::int64_t>(random() % 3);
    std::vector<std::int64_t> walked;
    for (const Unit& unit : units_of(deltas)) {
      ASSERT_LE(unit.size, kUnitWindow);
      for (std::uint32_t i = 0; i < unit.covered(); ++i) {
        walked.push_back(deltas[unit.first + i % unit.size]);
      }
    }
    ASSERT_EQ(walked, deltas);
  }
}

TEST(UnitPredictor, PapersExample) {
  UnitPredictor predictor;
  count_right(predictor, at({0, 3, 7, 14, 17, 21, 28}));
  EXPECT_EQ(next_of(predictor, 3), at({31, 35, 42}));
}

TEST(UnitPredictor, WalksOnInPhase) {
  const Accesses stream = nest({{40, 14}}, at({0, 3, 7}));
  UnitPredictor predictor;
  EXPECT_EQ(count_right(predictor, stream, 7), stream.size() - 7);
}

TEST(UnitPredictor, LengthsAreUnitsToo) {
  Accesses stream;
  for (std::int64_t i = 0; i < 60; ++i) stream.push_back({i * 1000, 100 + i % 2 * 50});
  UnitPredictor predictor;
  EXPECT_EQ(count_right(predictor, stream, 6), stream.size() - 6);
}

// Rows of 20 are beyond the window: the unit misses each row's beginning, the tree knows it.
TEST(TreePredictor, KnowsWhereARowEnds) {
  const Accesses stream = nest({{30, 1000}, {20, 10}}, at({0}));
  UnitPredictor unit;
  TreePredictor tree;
  EXPECT_LE(count_right(unit, stream, 100), stream.size() - 100 - 25);
  EXPECT_GE(count_right(tree, stream, 100), stream.size() - 100 - 8);
}

TEST(TreePredictor, PapersExample) {
  TreePredictor predictor;
  count_right(predictor, at({0, 3, 7, 14, 17, 21, 28}));
  EXPECT_EQ(next_of(predictor, 3), at({31, 35, 42}));
}

TEST(TreePredictor, AnythingGoes) {
  std::mt19937_64 random(3);
  for (int draw = 0; draw < 30; ++draw) {
    TreePredictor predictor;
    for (int i = 0; i < 400; ++i) {
      predictor.observe(
          {static_cast<std::int64_t>(random() % 4 == 0 ? random() : random() % 3), 1});
    }
  }
}

TEST(SimplePredictors, StrideAndReadahead) {
  StridePredictor stride;
  EXPECT_EQ(count_right(stride, nest({{50, -100}}, {{0, 10}})), 48U);
  EXPECT_EQ(next_of(stride, 2), at({-5000, -5100}, 10));
  ReadaheadPredictor readahead;
  EXPECT_EQ(count_right(readahead, nest({{50, 10}}, {{0, 10}})), 49U);
  EXPECT_EQ(next_of(readahead, 2), at({500, 510}, 10));
}

// Figure 19 of HPDC 2013: blocks 2, 3, 6, 7, 10, 11; after 3 comes 6.
TEST(MarkovPredictor, PapersMatrix) {
  std::vector<MarkovPredictor::Transition> slots(64);
  MarkovPredictor predictor(slots, 100);
  count_right(predictor, at({200, 300, 600, 700, 1000, 1100}, 100));
  EXPECT_EQ(predictor.transitions(), 5U);
  predictor.begin_run();
  predictor.observe({200, 100});
  EXPECT_EQ(next_of(predictor, 9), at({300, 600, 700, 1000, 1100}, 100));
}

TEST(MarkovPredictor, GoesWhereItWentMostOften) {
  std::vector<MarkovPredictor::Transition> slots(64);
  MarkovPredictor predictor(slots, 10);
  for (const std::int64_t to : {50, 70, 70, 50, 70}) {
    predictor.observe({0, 1});
    predictor.observe({to, 1});
  }
  predictor.observe({0, 1});
  EXPECT_EQ(next_of(predictor, 1), at({70}));
}

TEST(MarkovPredictor, TheModelIsKeptOverRuns) {
  const Accesses stream = nest({{20, 100000}, {9, 8192}}, {{0, 512}});
  std::vector<MarkovPredictor::Transition> slots(400);
  MarkovPredictor first(slots, 8192);
  EXPECT_EQ(count_right(first, stream), 0U);
  std::vector<std::byte> bytes(16384);
  ByteWriter model(bytes);
  ASSERT_TRUE(first.save(model));
  std::vector<MarkovPredictor::Transition> other(400);
  MarkovPredictor second(other, 8192);
  ByteReader in(model.written());
  ASSERT_TRUE(second.load(in));
  EXPECT_EQ(second.transitions(), first.transitions());
  EXPECT_EQ(count_right(second, stream), stream.size() - 1);

  MarkovPredictor blocks(other, 4096);
  ByteReader again(model.written());
  EXPECT_FALSE(blocks.load(again));
  std::vector<std::byte> small(model.bytes_used() - 1);
  ByteWriter too_small(small);
  EXPECT_FALSE(first.save(too_small));
  EXPECT_EQ(too_small.bytes_used(), 0U);
  for (std::size_t cut = 0; cut < model.bytes_used(); ++cut) {
    ByteReader damaged(model.written().first(cut));
    std::vector<MarkovPredictor::Transition> fresh(400);
    MarkovPredictor reader(fresh, 8192);
    EXPECT_FALSE(reader.load(damaged)) << cut;
  }
}

TEST(MarkovPredictor, AFullModelLearnsNoMore) {
  std::vector<MarkovPredictor::Transition> slots(8);
  MarkovPredictor predictor(slots, 1);
  for (std::int64_t i = 0; i < 1000; ++i) predictor.observe({-i * i * 977, 1});
  EXPECT_EQ(predictor.transitions(), 8U);
  MarkovPredictor empty({}, 1);
  empty.observe({0, 1});
  empty.observe({5, 1});
  EXPECT_TRUE(next_of(empty, 1).empty());
}

std::vector<std::byte> plan_of(const Accesses& stream) {
  std::vector<std::byte> bytes(plan_bytes_limit(stream.size()));
  std::vector<std::byte> scratch(plan_scratch_bytes());
  ByteWriter out(bytes);
  EXPECT_TRUE(write_plan(stream, scratch, out));
  bytes.resize(out.bytes_used());
  return bytes;
}

TEST(PlanPredictor, SaysWhatCameBefore) {
  std::mt19937_64 random(5);
  for (const std::size_t size : {0U, 1U, 1023U, 1024U, 1025U, 2048U, 5000U}) {
    Accesses stream;
    for (std::size_t i = 0; i < size; ++i) {
      stream.push_back({static_cast<std::int64_t>(random()), static_cast<std::int64_t>(i)});
    }
    const std::vector<std::byte> plan = plan_of(stream);
    const auto predictor = std::make_unique<PlanPredictor>(plan);
    EXPECT_EQ(count_right(*predictor, stream), size);
    EXPECT_TRUE(next_of(*predictor, 1).empty());
  }
}

TEST(PlanPredictor, ARegularPlanIsSmall) {
  EXPECT_LT(plan_of(nest({{100, 100000}, {100, 10}}, {{0, 4}})).size(), 600U);
}

TEST(PlanPredictor, ExtraAndMissingAccesses) {
  const Accesses stream = nest({{50, 100000}, {40, 10}}, {{0, 4}});
  const std::vector<std::byte> plan = plan_of(stream);
  Accesses other;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (i % 100 == 50) other.push_back({-7, 7});
    if (i % 100 != 20) other.push_back(stream[i]);
  }
  const auto predictor = std::make_unique<PlanPredictor>(plan);
  EXPECT_EQ(count_right(*predictor, other), other.size() - 2 * 20);
}

TEST(PlanPredictor, WhatIsNoPlanIsKnown) {
  EXPECT_TRUE(PlanPredictor({}).is_plan());
  const std::vector<std::byte> garbage(40, std::byte{0x5a});
  EXPECT_FALSE(PlanPredictor(garbage).is_plan());
}

TEST(PlanPredictor, ADamagedPlanEnds) {
  const Accesses stream = nest({{50, 100000}, {40, 10}}, {{0, 4}});
  const std::vector<std::byte> plan = plan_of(stream);
  std::mt19937_64 random(11);
  for (int draw = 0; draw < 3000; ++draw) {
    std::vector<std::byte> damaged(
        plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(random() % plan.size()));
    for (int i = 0; i < 2 && !damaged.empty(); ++i) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    const auto predictor = std::make_unique<PlanPredictor>(damaged);
    count_right(*predictor, stream);
  }
}

}  // namespace
}  // namespace iotune::patterns
