#include "recorder/order_prediction.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace iotune::recorder {
namespace {

std::size_t surprises_of(const std::vector<OrderPair>& pairs, std::uint64_t streams) {
  const auto predictor = std::make_unique<OrderPredictor>();
  predictor->reset(streams);
  std::size_t surprises = 0;
  for (const OrderPair& pair : pairs) {
    if (predictor->expected() != pair) ++surprises;
    predictor->take(pair);
  }
  return surprises;
}

TEST(OrderPrediction, streams_that_come_one_after_the_other_are_expected) {
  std::vector<OrderPair> pairs;
  for (std::uint64_t i = 0; i < 500; ++i) pairs.push_back({i, 1});
  EXPECT_EQ(surprises_of(pairs, 500), 0U);
}

TEST(OrderPrediction, a_round_surprises_once) {
  std::vector<OrderPair> pairs;
  for (int round = 0; round < 100; ++round) {
    for (const OrderPair pair : {OrderPair{0, 1}, {1, 4}, {2, 1}, {1, 2}, {0, 1}, {3, 7}}) {
      pairs.push_back(pair);
    }
  }
  EXPECT_LE(surprises_of(pairs, 4), 12U);
}

// As a program opens datasets: each is a stream of its own, between calls that stay the same.
TEST(OrderPrediction, a_new_stream_in_each_round_is_expected) {
  std::vector<OrderPair> pairs;
  std::uint64_t streams = 3;
  for (int round = 0; round < 100; ++round) {
    pairs.insert(pairs.end(), {{0, 1}, {1, 2}, {streams, 1}, {2, 1}, {streams + 1, 3}});
    streams += 2;
  }
  EXPECT_LE(surprises_of(pairs, streams), 12U);
}

// Where rounds differ in how often a part of them comes, two surprises each tell it.
TEST(OrderPrediction, a_part_that_comes_now_and_then_costs_little) {
  std::mt19937_64 random(7);
  std::vector<OrderPair> pairs;
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t k = 1 + random() % 3; k > 0; --k)
      pairs.insert(pairs.end(), {{0, 1}, {1, 1}});
    for (std::uint64_t what = 2; what < 12; ++what) pairs.push_back({what, 1});
  }
  EXPECT_LE(surprises_of(pairs, 12), 200 * 2U + 20);
}

TEST(OrderPrediction, turns_are_never_taken_for_new_streams) {
  const auto predictor = std::make_unique<OrderPredictor>();
  predictor->reset(2);
  for (const OrderPair pair : {OrderPair{0, 1}, {1, 1}, {2, 5}, {3, 5}, {2, 6}}) {
    EXPECT_LE(predictor->expected().what, 3U);
    predictor->take(pair);
  }
}

}  // namespace
}  // namespace iotune::recorder
