#include "tests/generators/transforms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/generators/applications.h"
#include "tests/generators/drawn_nest.h"

namespace iotune::generators {
namespace {

using patterns::Extent;

bool is_subsequence(const std::vector<Extent>& part, const std::vector<Extent>& of) {
  std::size_t found = 0;
  for (const Extent& access : of) {
    if (found < part.size() && access == part[found]) ++found;
  }
  return found == part.size();
}

TEST(Transforms, noise_is_put_between_and_repeats_by_its_seed) {
  const Workload clean = fs_test({.ranks = 4, .writes = 5000});
  const Workload noisy = with_noise(clean, 1.0, 7);
  EXPECT_NEAR(static_cast<double>(noisy.accesses()), 20200.0, 60.0);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(is_subsequence(clean.streams[rank].accesses, noisy.streams[rank].accesses));
  }
  EXPECT_EQ(with_noise(clean, 1.0, 7).streams[3].accesses, noisy.streams[3].accesses);
  EXPECT_NE(with_noise(clean, 1.0, 8).streams[3].accesses, noisy.streams[3].accesses);
  EXPECT_EQ(with_noise(clean, 0.0, 7).streams[3].accesses, clean.streams[3].accesses);
}

TEST(Transforms, interleaving_takes_turns_until_all_are_used_up) {
  const Workload of{"", "", {{4, {{0, 1}, {1, 1}, {2, 1}}}, {5, {{10, 1}}}, {6, {{20, 1}}}}};
  const Workload two = interleaved(of, 2);
  ASSERT_EQ(two.streams.size(), 2U);
  EXPECT_EQ(two.streams[0].rank, 4U);
  EXPECT_EQ(two.streams[0].accesses, (std::vector<Extent>{{0, 1}, {10, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(two.streams[1].accesses, (std::vector<Extent>{{20, 1}}));
  EXPECT_EQ(interleaved(of, 3, 2).streams[0].accesses,
            (std::vector<Extent>{{0, 1}, {1, 1}, {10, 1}, {20, 1}, {2, 1}}));
}

TEST(Transforms, interleaving_at_random_keeps_each_streams_order) {
  const Workload clean = fs_test({.ranks = 4, .writes = 200});
  const Workload mixed = interleaved_at_random(clean, 2, 3);
  ASSERT_EQ(mixed.streams.size(), 2U);
  EXPECT_EQ(mixed.accesses(), 800U);
  EXPECT_TRUE(is_subsequence(clean.streams[0].accesses, mixed.streams[0].accesses));
  EXPECT_TRUE(is_subsequence(clean.streams[1].accesses, mixed.streams[0].accesses));
}

TEST(Transforms, random_accesses_stay_in_their_bounds) {
  const Workload made = random_accesses({.accesses = 1000, .file_bytes = 1 << 20});
  EXPECT_EQ(made.accesses(), 1000U);
  for (const Extent& access : made.streams[0].accesses) {
    EXPECT_LT(access.offset, 1 << 20);
    EXPECT_GE(access.length, 1);
    EXPECT_LE(access.length, 1 << 20);
  }
}

// One nest by its formula, as a second way to the same accesses.
std::vector<Extent> by_formula(const Nest& nest, std::uint32_t rank) {
  std::vector<Extent> accesses;
  std::int64_t iterations = 1;
  for (const NestLoop& loop : nest.loops) iterations *= loop.count;
  for (std::int64_t i = 0; i < iterations; ++i) {
    std::int64_t at = nest.start_bytes + rank * nest.rank_stride_bytes;
    std::int64_t left = i;
    for (auto loop = nest.loops.rbegin(); loop != nest.loops.rend(); ++loop) {
      at += left % loop->count * loop->stride_bytes;
      left /= loop->count;
    }
    for (const Extent& part : nest.body) accesses.push_back({at + part.offset, part.length});
  }
  return accesses;
}

TEST(DrawnNests, are_what_their_text_says) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const DrawnNest drawn = draw_nest(seed);
    const Workload made = expand(drawn, seed);
    ASSERT_EQ(made.streams.size(), drawn.ranks);
    for (const Stream& stream : {made.streams.front(), made.streams.back()}) {
      std::size_t clean = 0;
      for (const Nest& nest : drawn.nests) {
        const std::vector<Extent> expected = by_formula(nest, stream.rank);
        clean += expected.size();
        ASSERT_TRUE(is_subsequence(expected, stream.accesses)) << seed << ": " << drawn.text();
      }
      ASSERT_GE(stream.accesses.size(), clean);
      ASSERT_TRUE(drawn.noise_percent > 0 || stream.accesses.size() == clean);
      EXPECT_TRUE(std::none_of(stream.accesses.begin(), stream.accesses.end(),
                               [](const Extent& access) { return access.offset < 0; }))
          << seed;
    }
  }
}

TEST(DrawnNests, cover_what_they_claim) {
  std::size_t depths[6] = {};
  std::size_t interleaved = 0;
  std::size_t noisy = 0;
  std::size_t negative = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const DrawnNest drawn = draw_nest(seed);
    EXPECT_EQ(draw_nest(seed).text(), drawn.text());
    ASSERT_GE(drawn.depth(), 1U);
    ASSERT_LE(drawn.depth(), 5U);
    ++depths[drawn.depth()];
    interleaved += drawn.interleaved() ? 1 : 0;
    noisy += drawn.noise_percent > 0 ? 1 : 0;
    for (const Nest& nest : drawn.nests) {
      std::int64_t accesses = static_cast<std::int64_t>(nest.body.size());
      for (const NestLoop& loop : nest.loops) {
        accesses *= loop.count;
        negative += loop.stride_bytes < 0 ? 1 : 0;
      }
      EXPECT_GE(accesses, 200) << drawn.text();
      EXPECT_LE(accesses, 30000) << drawn.text();
    }
  }
  for (std::size_t depth = 1; depth <= 5; ++depth) EXPECT_GT(depths[depth], 30U) << depth;
  EXPECT_GT(interleaved, 60U);
  EXPECT_GT(noisy, 60U);
  EXPECT_GT(negative, 60U);
}

}  // namespace
}  // namespace iotune::generators
