#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "gather/held/coverage.h"
#include "gather/held/pieces.h"

namespace iotune::gather {
namespace {

Budget& much() {
  static Budget budget(std::size_t{1} << 30U);
  return budget;
}

void hold(HeldPieces& held, std::int64_t offset, const std::vector<unsigned char>& bytes) {
  std::byte* const to = held.room_for(offset, bytes.size());
  ASSERT_NE(to, nullptr);
  for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = std::byte{bytes[i]};
  ASSERT_TRUE(held.hold(offset, bytes.size()));
}

// What would be in the file, byte by byte.
std::map<std::int64_t, unsigned char> bytes_of(const Ascending& pieces) {
  std::map<std::int64_t, unsigned char> file;
  std::size_t at = 0;
  std::int64_t end = INT64_MIN;
  for (const Run& run : pieces.runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t offset = run.offset + i * run.stride;
      EXPECT_GE(offset, end);
      end = offset + run.bytes;
      for (std::int64_t k = 0; k < run.bytes; ++k) {
        const bool first =
            file.emplace(offset + k, std::to_integer<unsigned char>(pieces.data[at++])).second;
        EXPECT_TRUE(first) << "byte " << offset + k << " twice";
      }
    }
  }
  EXPECT_EQ(at, pieces.bytes);
  return file;
}

TEST(HeldPieces, ACyclicLoopIsOneRun) {
  HeldPieces held(much());
  for (int i = 0; i < 1000; ++i) hold(held, 16 * i + 8, std::vector<unsigned char>(8, 7));
  const Ascending pieces = held.ascending();
  ASSERT_EQ(pieces.runs.size(), 1U);
  EXPECT_EQ(pieces.runs[0].count, 1000);
  EXPECT_EQ(pieces.runs[0].stride, 16);
  EXPECT_EQ(pieces.begin(), 8);
  EXPECT_EQ(pieces.end(), 16 * 999 + 16);
}

TEST(HeldPieces, OnePartInSmallWritesIsOnePiece) {
  HeldPieces held(much());
  for (int i = 0; i < 1000; ++i) hold(held, 100 + 20 * i, std::vector<unsigned char>(20, 7));
  const Ascending pieces = held.ascending();
  ASSERT_EQ(pieces.runs.size(), 1U);
  EXPECT_EQ(pieces.runs[0].bytes, 20000);
}

// A row in two writes: what grew to one piece goes on with the rows before it.
TEST(HeldPieces, RowsOfSeveralWritesAreOneRun) {
  HeldPieces held(much());
  for (int row = 0; row < 100; ++row) {
    hold(held, 64 * row, std::vector<unsigned char>(8, 1));
    hold(held, 64 * row + 8, std::vector<unsigned char>(8, 2));
  }
  const Ascending pieces = held.ascending();
  ASSERT_EQ(pieces.runs.size(), 1U);
  EXPECT_EQ(pieces.runs[0].bytes, 16);
  EXPECT_EQ(pieces.runs[0].count, 100);
}

TEST(HeldPieces, NothingIsHeldBeyondTheBudget) {
  Budget budget(10000);
  for (const int stride : {16, -16}) {
    HeldPieces held(budget);
    std::int64_t at = 100000, pieces = 0;
    while (held.room_for(at, 8) != nullptr) {
      hold(held, at, std::vector<unsigned char>(8, 1));
      at += stride;
      ++pieces;
    }
    // Those that have to be sorted take more.
    EXPECT_GT(pieces, stride > 0 ? 1000 : 40);
    EXPECT_LT(pieces, stride > 0 ? 1250 : 100);
    held.clear();
    EXPECT_EQ(budget.left(), 10000U);
    EXPECT_NE(held.room_for(0, 8), nullptr);
  }
  EXPECT_EQ(budget.left(), 10000U);
}

TEST(HeldPieces, DrawnWritesLeaveTheBytesThatTheFileWouldHave) {
  std::mt19937_64 draw(1);
  const auto below = [&](int most) {
    return std::uniform_int_distribution<int>(0, most - 1)(draw);
  };
  for (int drawn = 0; drawn < 2000; ++drawn) {
    HeldPieces held(much());
    std::map<std::int64_t, unsigned char> file;
    unsigned char value = 0;
    std::int64_t last = 0;
    const int stride = 1 + below(12), writes = 1 + below(40), range = 1 + below(100);
    for (int i = 0; i < writes; ++i) {
      last = below(3) == 0 ? below(range) : last + stride;
      std::vector<unsigned char> bytes(1 + static_cast<std::size_t>(below(9)));
      for (unsigned char& byte : bytes) byte = ++value;
      hold(held, last, bytes);
      for (std::size_t k = 0; k < bytes.size(); ++k) {
        file[last + static_cast<std::int64_t>(k)] = bytes[k];
      }
    }
    ASSERT_EQ(bytes_of(held.ascending()), file) << "drawn " << drawn;
  }
}

// What is read of what is held is what the file would have, or is not found.
TEST(HeldPieces, DrawnReadsGiveTheBytesThatWereWrittenLast) {
  std::mt19937_64 draw(2);
  const auto below = [&](int most) {
    return std::uniform_int_distribution<int>(0, most - 1)(draw);
  };
  int found = 0;
  for (int drawn = 0; drawn < 500; ++drawn) {
    HeldPieces held(much());
    std::map<std::int64_t, unsigned char> file;
    unsigned char value = 0;
    std::int64_t last = 0;
    const int stride = 1 + below(12), range = 1 + below(100);
    for (int i = 0; i < 60; ++i) {
      last = below(5) == 0 ? below(range) : last + stride;
      std::vector<unsigned char> bytes(1 + static_cast<std::size_t>(below(3) == 0 ? 4 : 9));
      for (unsigned char& byte : bytes) byte = ++value;
      hold(held, last, bytes);
      for (std::size_t k = 0; k < bytes.size(); ++k) {
        file[last + static_cast<std::int64_t>(k)] = bytes[k];
      }
      const std::int64_t at = std::max<std::int64_t>(0, last - below(20));
      std::vector<std::byte> read(1 + static_cast<std::size_t>(below(20)));
      if (!held.copy_out(at, static_cast<std::int64_t>(read.size()), read.data())) continue;
      ++found;
      for (std::size_t k = 0; k < read.size(); ++k) {
        const auto byte = file.find(at + static_cast<std::int64_t>(k));
        ASSERT_NE(byte, file.end()) << "drawn " << drawn;
        ASSERT_EQ(std::to_integer<unsigned char>(read[k]), byte->second) << "drawn " << drawn;
      }
    }
  }
  EXPECT_GT(found, 5000);
}

Ascending runs(std::vector<Run> runs) {
  return {std::move(runs), nullptr, 1};
}

TEST(Coverage, RanksThatTakeTurnsFillTheirRange) {
  const auto first = steps_of(runs({{0, 8, 16, 1000, 0}}));
  const auto second = steps_of(runs({{8, 8, 16, 1000, 0}}));
  EXPECT_TRUE(fills(first + second, 0, 16000));
  EXPECT_FALSE(fills(first, 0, 16000 - 8));
}

// As many bytes as the range has, and yet a hole: one byte is there twice.
TEST(Coverage, AHoleThatAnOverlapMakesUpForIsSeen) {
  const auto first = steps_of(runs({{0, 10, 10, 1, 0}, {30, 10, 10, 1, 0}}));
  const auto second = steps_of(runs({{0, 20, 20, 1, 0}}));
  EXPECT_FALSE(fills(first + second, 0, 40));
}

}  // namespace
}  // namespace iotune::gather
