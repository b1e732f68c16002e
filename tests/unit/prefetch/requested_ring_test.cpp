#include "prefetch/streams/requested_ring.h"

#include <gtest/gtest.h>

namespace iotune::prefetch {
namespace {

TEST(RequestedRing, WhatIsTakenIsGone) {
  RequestedRing ring;
  EXPECT_FALSE(ring.take({0, 10}));
  ring.add({0, 10});
  ring.add({100, 10});
  EXPECT_TRUE(ring.has({100, 10}));
  EXPECT_FALSE(ring.has({100, 11}));
  EXPECT_TRUE(ring.take({100, 10}));
  EXPECT_FALSE(ring.take({100, 10}));
  EXPECT_TRUE(ring.take({0, 10}));
  EXPECT_EQ(ring.held(), 0u);
}

TEST(RequestedRing, TheOldestMakesPlace) {
  RequestedRing ring;
  for (std::int64_t i = 0; i < static_cast<int>(kMostAhead); ++i) ring.add({i * 100, 7});
  EXPECT_EQ(ring.held(), kMostAhead);
  ring.add({99999, 7});
  EXPECT_EQ(ring.held(), kMostAhead);
  EXPECT_FALSE(ring.take({0, 7}));
  EXPECT_TRUE(ring.take({100, 7}));
  ring.clear();
  EXPECT_EQ(ring.held(), 0u);
}

TEST(RequestedRing, AnyOrderOfReadsIsFollowed) {
  RequestedRing ring;
  for (int round = 0; round < 1000; ++round) {
    for (std::int64_t i = 0; i < 5; ++i) ring.add({round * 1000 + i, 1});
    for (const int i : {3, 0, 4, 1, 2}) ASSERT_TRUE(ring.take({round * 1000 + i, 1}));
  }
}

}  // namespace
}  // namespace iotune::prefetch
