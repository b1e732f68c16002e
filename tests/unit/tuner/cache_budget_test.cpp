#include "tuner/hdf5/cache_budget.h"

#include <gtest/gtest.h>

namespace iotune::tuner {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(CacheBudget, IsAnEighthOfTheNodeForAllItsRanks) {
  EXPECT_EQ(cache_budget_bytes(8192 * kMiB, 1, 1), 1024 * kMiB);
  EXPECT_EQ(cache_budget_bytes(8192 * kMiB, 4, 1), 256 * kMiB);
  EXPECT_EQ(cache_budget_bytes(8192 * kMiB, 5, 2), 8192 * kMiB / 8 / 3);
  EXPECT_EQ(cache_budget_bytes(8192 * kMiB, 0, 0), 1024 * kMiB);
}

TEST(CacheBudget, AllDatasetsTogetherNeverTakeMore) {
  for (const std::uint64_t wanted : {2 * kMiB, 30 * kMiB, 99 * kMiB, 100 * kMiB, 4096 * kMiB}) {
    std::uint64_t taken = 0;
    for (std::uint64_t open = 0; open < 200; ++open) {
      taken += cache_share_bytes(100 * kMiB, wanted, open);
      EXPECT_LE(taken, 100 * kMiB) << wanted << " at " << open;
    }
    EXPECT_GE(taken, 98 * kMiB) << wanted;
  }
}

TEST(CacheBudget, DatasetsThatNobodyCountsHaveASmallPartEach) {
  EXPECT_EQ(file_cache_bytes(1024 * kMiB, 4096 * kMiB), 16 * kMiB);
  EXPECT_EQ(file_cache_bytes(1024 * kMiB, 8 * kMiB), 8 * kMiB);
  EXPECT_EQ(file_cache_bytes(64 * kMiB, 8 * kMiB), 0u);
  EXPECT_EQ(file_cache_bytes(0, 4096), 4096u);
}

TEST(CacheBudget, SlotsArePrimesAndGrowWithTheCache) {
  constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
  std::size_t before = 0;
  for (std::uint64_t bytes = 4096; bytes <= 4096 * kMiB; bytes *= 2) {
    const std::size_t slots = chunk_slots(bytes);
    EXPECT_TRUE(is_prime(slots)) << bytes;
    EXPECT_GE(slots, before);
    EXPECT_GE(slots, 10 * bytes / kChunkBytes) << bytes;
    EXPECT_LE(slots * sizeof(void*), 12421 * sizeof(void*) + bytes / 127) << bytes;
    EXPECT_LT(slots, (std::size_t{1} << 20) + 1000);
    before = slots;
  }
  EXPECT_EQ(chunk_slots(0), 12421u);
  EXPECT_EQ(chunk_slots(1024 * kMiB), 1048583u);
  EXPECT_FALSE(is_prime(0) || is_prime(1) || is_prime(4) || is_prime(25));
  EXPECT_TRUE(is_prime(2) && is_prime(3) && is_prime(5));
}

TEST(CacheBudget, LessThanHdf5sOwnIsNoMatterOfBudget) {
  EXPECT_EQ(cache_share_bytes(0, 0, 9), 0u);
  EXPECT_EQ(cache_share_bytes(0, 4096, 9), 4096u);
  EXPECT_EQ(cache_share_bytes(kMiB / 2, 8 * kMiB, 0), 0u);
}

}  // namespace
}  // namespace iotune::tuner
