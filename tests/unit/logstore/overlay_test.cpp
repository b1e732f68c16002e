// What lies over the map, against an array of bytes.
#include "logstore/store/overlay.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace iotune::logstore {
namespace {

TEST(Overlay, writes_that_continue_each_other_are_one_extent) {
  Overlay overlay;
  for (std::int64_t i = 0; i < 100; ++i) overlay.put(i * 8, 8, 1000 + i * 8);
  EXPECT_EQ(overlay.extents(), 1U);
  overlay.put(800, 8, 5000);
  EXPECT_EQ(overlay.extents(), 2U);
  overlay.put(0, 1000, Overlay::kHole);
  EXPECT_EQ(overlay.extents(), 1U);
  EXPECT_FALSE(overlay.at(1000).covered);
  EXPECT_EQ(overlay.at(1000).end, INT64_MAX);
}

TEST(Overlay, says_what_was_put_last) {
  std::mt19937_64 draw(7);
  for (int round = 0; round < 300; ++round) {
    Overlay overlay;
    constexpr std::int64_t kNothing = -2;
    std::array<std::int64_t, 100> bytes;
    bytes.fill(kNothing);
    std::int64_t log = 0;
    for (int step = 0; step < 40; ++step) {
      const auto offset = static_cast<std::int64_t>(draw() % bytes.size());
      const auto most =
          static_cast<std::uint64_t>(bytes.size()) - static_cast<std::uint64_t>(offset);
      const auto length = static_cast<std::int64_t>(1 + draw() % std::min<std::uint64_t>(most, 20));
      const bool hole = draw() % 4 == 0;
      overlay.put(offset, length, hole ? Overlay::kHole : log);
      for (std::int64_t i = 0; i < length; ++i) {
        bytes[static_cast<std::size_t>(offset + i)] = hole ? Overlay::kHole : log + i;
      }
      log += hole ? 0 : length;
      for (std::int64_t at = 0; at < static_cast<std::int64_t>(bytes.size());) {
        const Overlay::Piece piece = overlay.at(at);
        ASSERT_GT(piece.end, at);
        for (std::int64_t i = at; i < std::min<std::int64_t>(piece.end, bytes.size()); ++i) {
          const std::int64_t physical =
              piece.physical == Overlay::kHole ? Overlay::kHole : piece.physical + i - at;
          ASSERT_EQ(piece.covered ? physical : kNothing, bytes[static_cast<std::size_t>(i)])
              << "round " << round << ", byte " << i;
        }
        at = piece.end;
      }
    }
  }
}

TEST(SizeChange, is_what_writes_and_truncations_do) {
  SizeChange change;
  EXPECT_EQ(change.apply(5), 5);
  change.write(10);
  EXPECT_EQ(change.apply(5), 10);
  EXPECT_EQ(change.apply(15), 15);
  change.truncate(3);
  EXPECT_EQ(change.apply(15), 3);
  change.write(8);
  EXPECT_EQ(change.apply(15), 8);
}

}  // namespace
}  // namespace iotune::logstore
