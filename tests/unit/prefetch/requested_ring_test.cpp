#include "prefetch/requested_ring.h"

#include <gtest/gtest.h>

namespace iotune::prefetch {
namespace {

using patterns::Extent;

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

TEST(RequestedRing, TheOldestMakesPlaceAndWasInVain) {
  RequestedRing ring;
  std::uint64_t vain = 0;
  for (std::int64_t i = 0; i < static_cast<int>(kMostAhead); ++i) vain += ring.add({i * 100, 7});
  EXPECT_EQ(vain, 0u);
  EXPECT_EQ(ring.add({99999, 7}), 7u);
  EXPECT_FALSE(ring.take({0, 7}));
  EXPECT_TRUE(ring.take({100, 7}));
  EXPECT_EQ(ring.clear(), (kMostAhead - 1) * 7u);
  EXPECT_EQ(ring.held(), 0u);
}

TEST(RequestedRing, AnyOrderOfReadsIsFollowed) {
  RequestedRing ring;
  for (int round = 0; round < 1000; ++round) {
    for (std::int64_t i = 0; i < 5; ++i) ASSERT_EQ(ring.add({round * 1000 + i, 1}), 0u);
    for (const int i : {3, 0, 4, 1, 2}) ASSERT_TRUE(ring.take({round * 1000 + i, 1}));
  }
}

}  // namespace
}  // namespace iotune::prefetch
