// What is exchanged: views with holes, the ends of what all ranks cover, pieces cut there.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "gather/held/boundaries.h"
#include "gather/held/split_pieces.h"
#include "gather/held/view.h"

namespace iotune::gather {
namespace {

using Runs = std::vector<Run>;
using Ranges = std::vector<Range>;
using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces_of(const View& view, std::int64_t offset, std::int64_t bytes) {
  Pieces found;
  view.each_piece(offset, bytes, [&](std::int64_t at, std::int64_t count) {
    found.emplace_back(at, count);
    return true;
  });
  return found;
}

TEST(View, BytesAreTheFilesOwnBeforeOneIsSet) {
  EXPECT_EQ(pieces_of(View(), 100, 20), (Pieces{{100, 20}}));
}

TEST(View, ATransferPassesTheHolesOfATile) {
  View view;
  // Of tiles of 32 bytes: 4 at 8 and 16, 2 at 30.
  ASSERT_TRUE(view.set({100, 2, 32}, std::vector<PieceLoop>{{8, 4, 8, 2}, {30, 2, 0, 1}}));
  EXPECT_EQ(pieces_of(view, 1, 12), (Pieces{{110, 2}, {116, 4}, {130, 2}, {140, 4}}));
  EXPECT_EQ(pieces_of(view, 5, 2), (Pieces{{140, 2}}));
  const Range range = view.range_of(1, 12);
  EXPECT_EQ(range.begin, 110);
  EXPECT_EQ(range.end, 144);
}

TEST(View, TilesWithoutHolesAreOnePiece) {
  View view;
  ASSERT_TRUE(view.set({8, 4, 16}, std::vector<PieceLoop>{{0, 16, 0, 1}}));
  EXPECT_EQ(pieces_of(view, 2, 100), (Pieces{{16, 100}}));
}

TEST(View, WhatGoesBackOrOverlapsIsNotFollowed) {
  View view;
  EXPECT_FALSE(view.set({0, 1, 32}, std::vector<PieceLoop>{{8, 4, 0, 1}, {0, 4, 0, 1}}));
  EXPECT_FALSE(view.set({0, 1, 32}, std::vector<PieceLoop>{{0, 4, 2, 3}}));
  EXPECT_FALSE(view.set({0, 1, 8}, std::vector<PieceLoop>{{0, 4, 8, 2}}));
  EXPECT_FALSE(view.set({0, 8, 32}, std::vector<PieceLoop>{{0, 4, 0, 1}}));
  EXPECT_FALSE(view.is_known());
}

Ascending ascending(Runs runs) {
  std::size_t bytes = 0;
  for (Run& run : runs) {
    run.at = bytes;
    bytes += static_cast<std::size_t>(run.bytes * run.count);
  }
  return {std::move(runs), nullptr, bytes};
}

std::vector<std::pair<std::int64_t, std::int64_t>> once(Boundaries& sum) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const Range& range : sum.covered_once()) found.emplace_back(range.begin, range.end);
  return found;
}

TEST(Boundaries, HolesBetweenFilledRangesAreFound) {
  const auto sum = std::make_unique<Boundaries>();
  // Two ranks take turns from 0 to 16000 and from 20000 to 24000.
  sum->add(ascending({{0, 8, 16, 1000, 0}, {20000, 8, 16, 250, 0}}));
  sum->add(ascending({{8, 8, 16, 1000, 0}, {20008, 8, 16, 250, 0}}));
  EXPECT_EQ(once(*sum), (Pieces{{0, 16000}, {20000, 24000}}));
}

TEST(Boundaries, BytesOfTwoRanksAreNotCoveredOnce) {
  const auto sum = std::make_unique<Boundaries>();
  sum->add(ascending({{0, 100, 100, 1, 0}}));
  sum->add(ascending({{60, 100, 100, 1, 0}}));
  EXPECT_EQ(once(*sum), (Pieces{{0, 60}, {100, 160}}));
}

TEST(Boundaries, TooManyHolesAreSeen) {
  const auto sum = std::make_unique<Boundaries>();
  sum->add(ascending({{0, 8, 16, 10000, 0}}));
  EXPECT_TRUE(sum->covered_once().empty());
}

TEST(Boundaries, DrawnPiecesAreCoveredAsCounted) {
  std::mt19937_64 draw(3);
  const auto below = [&](int most) {
    return std::uniform_int_distribution<int>(0, most - 1)(draw);
  };
  int not_found = 0;
  for (int drawn = 0; drawn < 1000; ++drawn) {
    const auto sum = std::make_unique<Boundaries>();
    std::vector<int> covered(4000);
    for (int rank = 0; rank < 3; ++rank) {
      Runs runs;
      for (std::int64_t at = below(50); at < 3900;) {
        const std::int64_t bytes = 1 + below(60);
        if (below(3) == 0) {
          runs.push_back({at, bytes, bytes, 1, 0});
          for (std::int64_t i = at; i < at + bytes; ++i) ++covered[static_cast<std::size_t>(i)];
        }
        at += bytes + below(200);
      }
      sum->add(ascending(std::move(runs)));
    }
    Pieces expected;
    for (std::size_t i = 0; i < covered.size(); ++i) {
      if (covered[i] != 1) continue;
      const auto at = static_cast<std::int64_t>(i);
      if (expected.empty() || expected.back().second != at) expected.emplace_back(at, at);
      ++expected.back().second;
    }
    // Where one piece ends as another begins only the sum knows that nothing is between them.
    const Pieces found = once(*sum);
    if (found.empty()) {
      ++not_found;
    } else {
      ASSERT_EQ(found, expected) << "drawn " << drawn;
    }
  }
  EXPECT_LE(not_found, 3);
}

TEST(SplitPieces, PiecesAreCutAtTheEndsOfRanges) {
  const Ascending pieces = ascending({{0, 10, 20, 5, 0}, {200, 50, 50, 1, 0}});
  const std::vector<Range> ranges = {{5, 45}, {60, 61}, {210, 220}, {220, 300}};
  const SplitPieces found = split(pieces, ranges);
  std::map<std::int64_t, int> where;  // by byte: the part, or -1
  std::size_t bytes = 0;
  const auto visit = [&](const Runs& runs, int part) {
    for (const auto& run : runs) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        for (std::int64_t k = 0; k < run.bytes; ++k) {
          EXPECT_TRUE(where.emplace(run.offset + i * run.stride + k, part).second);
          ++bytes;
        }
      }
    }
  };
  visit(found.others, -1);
  for (std::size_t i = 0; i < ranges.size(); ++i) visit(found.parts[i].runs, static_cast<int>(i));
  EXPECT_EQ(bytes, pieces.bytes);
  for (const auto& [at, part] : where) {
    int expected = -1;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (at >= ranges[i].begin && at < ranges[i].end) expected = static_cast<int>(i);
    }
    EXPECT_EQ(part, expected) << at;
  }
  EXPECT_EQ(found.parts[0].at, 5U);
  EXPECT_EQ(found.parts[0].bytes, 5U + 10 + 5);
  EXPECT_EQ(found.parts[3].at, 50U + 20);
}

TEST(SplitPieces, LargePiecesAreTakenOut) {
  Ascending pieces = ascending({{0, 10, 20, 5, 0}, {200, 5000, 6000, 2, 0}});
  const Runs large = take_large(pieces, 1000);
  ASSERT_EQ(large.size(), 1U);
  EXPECT_EQ(large[0].at, 50U);
  EXPECT_EQ(pieces.bytes, 50U);
  EXPECT_EQ(pieces.end(), 90);
  EXPECT_TRUE(split(pieces, Ranges{{0, 90}}).parts[0].in_one);
  // What lies around a large one is not in one, and no single call can write it.
  pieces = ascending({{0, 10, 10, 1, 0}, {10, 5000, 5000, 1, 0}, {5010, 10, 10, 1, 0}});
  take_large(pieces, 1000);
  EXPECT_FALSE(split(pieces, Ranges{{0, 5020}}).parts[0].in_one);
}

}  // namespace
}  // namespace iotune::gather
