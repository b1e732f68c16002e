#include "prefetch/filesystem/request_delay.h"

#include <gtest/gtest.h>

namespace iotune::prefetch {
namespace {

constexpr LatencyTail kTail = {.share = 0.1, .exponent = 2.5};

TEST(LatencyTail, LeavesTheOtherRequestsAlone) {
  EXPECT_EQ(kTail.factor(0.1, 0.99), 1);
  EXPECT_EQ(LatencyTail{}.factor(0, 0.99), 1);
}

// P(factor > x) = x^(1 - exponent): one in a thousand of the tail's takes a hundred times as long.
TEST(LatencyTail, FallsAsAPowerLaw) {
  EXPECT_DOUBLE_EQ(kTail.factor(0.05, 0), 1);
  EXPECT_NEAR(kTail.factor(0.05, 0.999), 100, 1e-9);
  EXPECT_NEAR(kTail.factor(0.05, 1 - 1 / 8.0), 4, 1e-9);
}

TEST(LatencyTail, EndsSomewhere) {
  EXPECT_LE((LatencyTail{.share = 1, .exponent = 1.01}.factor(0, 0.999999)), 1e4);
}

}  // namespace
}  // namespace iotune::prefetch
