// What loops of few steps do not explain: long loops, lists that are read again, many in turn.
#include "patterns/predict/best_predictor.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "predict_test_streams.h"

namespace iotune::patterns {
namespace {

using testing::Accesses;

template <typename P>
double share_right(const Accesses& stream) {
  const auto predictor = std::make_unique<P>();
  std::size_t right = 0;
  for (const Extent& access : stream) {
    Prediction next{};
    right += predictor->predict({&next, 1}) == 1 && next.extent == access ? 1 : 0;
    predictor->observe(access);
  }
  return static_cast<double>(right) / static_cast<double>(stream.size());
}

class BestPredictorTest : public ::testing::Test {
 protected:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  // Variables of different sizes, one behind the other in each record.
  Accesses records(int variables, int count) {
    std::vector<std::int64_t> bytes;
    for (int i = 0; i < variables; ++i) bytes.push_back(64 * (1 + below(5000)));
    Accesses stream;
    std::int64_t at = 0;
    for (int record = 0; record < count; ++record) {
      for (const std::int64_t size : bytes) {
        stream.push_back({at, size / 8});
        at += size;
      }
    }
    return stream;
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937_64 random_{seed_};
};

TEST_F(BestPredictorTest, LoopsOfAThousandStepsAreKnownTheSecondTime) {
  for (const int steps : {5, 25, 200, 1000}) {
    EXPECT_GE(share_right<BestPredictor>(records(steps, 50)), 0.95) << steps << ' ' << seed_;
  }
}

TEST_F(BestPredictorTest, AnAccessMoreCostsItselfAndTheNextAtMost) {
  Accesses stream;
  std::size_t more = 0;
  for (const Extent& access : records(100, 100)) {
    stream.push_back(access);
    if (below(100) == 0) {
      stream.push_back({below(std::int64_t{1} << 40U), 4096});
      ++more;
    }
  }
  const double unknown = static_cast<double>(100 + 3 * more) / static_cast<double>(stream.size());
  EXPECT_GE(share_right<BestPredictor>(stream), 1 - unknown) << seed_;
}

TEST_F(BestPredictorTest, AListOfPlacesIsReadAgain) {
  Accesses list;
  for (int i = 0; i < 5000; ++i) list.push_back({below(std::int64_t{1} << 38U), 4096});
  Accesses stream;
  for (int i = 0; i < 20; ++i) stream.insert(stream.end(), list.begin(), list.end());
  EXPECT_GE(share_right<BestPredictor>(stream), 0.94) << seed_;
}

TEST_F(BestPredictorTest, SixteenSequencesTakeTurns) {
  for (const int count : {4, 8, 16}) {
    Accesses stream;
    for (int turn = 0; turn < 500; ++turn) {
      for (int i = 0; i < count; ++i) {
        const std::int64_t size = 4096 * (i + 1);
        stream.push_back({(std::int64_t{1} << 36U) * i + turn * size, size});
      }
    }
    EXPECT_GE(share_right<BestPredictor>(stream), 0.98) << count;
  }
}

TEST_F(BestPredictorTest, SequencesTakeTurnsInBursts) {
  // Of more than sixteen some are forgotten before they go on.
  for (const int count : {2, 4, 16, 20}) {
    Accesses stream;
    std::vector<std::int64_t> at, stride, burst;
    for (int i = 0; i < count; ++i) {
      at.push_back(below(std::int64_t{1} << 40U));
      stride.push_back(4096 * (1 + below(1000)));
      burst.push_back(2 + below(30));
    }
    for (int turn = 0; turn < 100; ++turn) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        for (std::int64_t k = 0; k < burst[i]; ++k, at[i] += stride[i]) {
          stream.push_back({at[i], 4096});
        }
      }
    }
    const double share = share_right<BestPredictor>(stream);
    EXPECT_GE(share, count <= 16 ? 0.96 : share_right<NestPredictor>(stream) - 0.01)
        << count << ' ' << seed_;
  }
}

TEST_F(BestPredictorTest, TheNextBurstIsWhatComes) {
  Accesses stream;
  for (std::int64_t turn = 0; turn < 30; ++turn) {
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t k = 0; k < 4; ++k) {
        stream.push_back({i * 1'000'000'000 + (4 * turn + k) * (i + 1) * 8192, 512});
      }
    }
  }
  BestPredictor predictor;
  for (std::size_t i = 0; i < 250; ++i) predictor.observe(stream[i]);
  Prediction next[20];
  ASSERT_EQ(predictor.predict(next), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(next[i].extent, stream[250 + i]) << i;
}

TEST_F(BestPredictorTest, WhatLoopsExplainIsPredictedAsBefore) {
  const Accesses stream = testing::nest({{40, 1 << 20}, {50, 8192}}, {{0, 4096}});
  EXPECT_EQ(share_right<BestPredictor>(stream), share_right<NestPredictor>(stream));
}

TEST_F(BestPredictorTest, SeveralAheadAreWhatComes) {
  const Accesses stream = records(30, 4);
  BestPredictor predictor;
  for (std::size_t i = 0; i < 80; ++i) predictor.observe(stream[i]);
  Prediction next[20];
  ASSERT_EQ(predictor.predict(next), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(next[i].extent, stream[80 + i]) << i;
}

}  // namespace
}  // namespace iotune::patterns
