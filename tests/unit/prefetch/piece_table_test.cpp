#include "prefetch/cache/piece_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace iotune::prefetch {
namespace {

using patterns::Extent;

constexpr std::uint32_t kUnit = 4096;
constexpr std::uint64_t kLong = 6'000'000'000;  // past which nobody waits for a piece

class PieceTableTest : public testing::Test {
 protected:
  void use(unsigned units, PieceRules rules = {}) {
    rules.unit_bytes = kUnit;
    heads_.assign((PieceTable::heads_bytes(units) + 7) / 8, 0);
    room_.assign(std::size_t{units} * kUnit, std::byte{0});
    table_.use(reinterpret_cast<std::byte*>(heads_.data()), room_.data(), units, rules);
  }
  PieceName add(std::int64_t offset, std::int64_t bytes) {
    return table_.add(index_, &reader_, {offset, bytes}, now_ns_);
  }
  PieceName add_ready(std::int64_t offset, std::int64_t bytes, std::int64_t there = -1) {
    const PieceName name = add(offset, bytes);
    if (name.number == kNoPiece) return name;
    table_.begin_filling(name.number);
    table_.end_filling(name.number, there < 0 ? bytes : there);
    return name;
  }
  Found find(std::int64_t offset, std::int64_t bytes) {
    return table_.find(index_, {offset, bytes}, parts_, 8, count_);
  }
  std::size_t found_bytes() const {
    std::size_t bytes = 0;
    for (unsigned i = 0; i < count_; ++i) bytes += parts_[i].length;
    return bytes;
  }
  bool is_there(PieceName name) const { return table_.named(name) != nullptr; }

  std::vector<std::uint64_t> heads_;
  std::vector<std::byte> room_;
  PieceTable table_;
  PieceIndex index_;
  PieceReader reader_;
  std::uint64_t now_ns_ = 0;
  FoundPart parts_[8];
  unsigned count_ = 0;
};

TEST_F(PieceTableTest, AnIndexIsInTheOrderOfOffsets) {
  use(4096);
  std::map<std::pair<std::int64_t, std::uint32_t>, unsigned> model;
  std::mt19937 random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    const std::int64_t offset = random() % 500 * 100;
    const auto next = model.lower_bound({offset, 0});
    ASSERT_EQ(table_.first_from(index_, offset), next == model.end() ? kNoPiece : next->second);
    ASSERT_EQ(table_.last_before(index_, offset),
              next == model.begin() ? kNoPiece : std::prev(next)->second);
    if (random() % 3 != 0 && model.size() < 1000) {
      const PieceName name = add(offset, 1 + random() % 8192);
      ASSERT_NE(name.number, kNoPiece);
      model[{offset, name.birth}] = name.number;
    } else if (!model.empty()) {
      const auto gone =
          std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      table_.drop(gone->second);
      model.erase(gone);
    }
    ASSERT_EQ(index_.count.load(), model.size());
  }
  unsigned at = table_.first_from(index_, 0), oldest = at;
  for (const auto& [key, number] : model) {
    ASSERT_EQ(at, number);
    if (table_.piece(at).birth < table_.piece(oldest).birth) oldest = at;
    at = table_.after(index_, at);
  }
  EXPECT_EQ(at, kNoPiece);
  EXPECT_EQ(table_.oldest(index_), oldest);
  table_.drop_all(index_);
  EXPECT_EQ(index_.count.load(), 0u);
  EXPECT_NE(add(0, kPieceBytes).number, kNoPiece) << "all room is free again";
}

TEST_F(PieceTableTest, PiecesHaveRoomOfTheirOwn) {
  use(64);
  std::mt19937 random(2);
  std::map<unsigned, unsigned> units;  // first one, how many
  for (int turn = 0; turn < 5000; ++turn) {
    const PieceName name = add(turn, 1 + random() % (16 * kUnit));
    if (name.number != kNoPiece) {
      const unsigned count = (table_.piece(name.number).wanted + kUnit - 1) / kUnit;
      const auto next = units.lower_bound(name.number);
      ASSERT_TRUE(next == units.end() || next->first >= name.number + count);
      if (next != units.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, name.number);
      }
      ASSERT_LE(name.number + count, 64u);
      ASSERT_EQ(table_.memory_of(name.number), room_.data() + std::size_t{name.number} * kUnit);
      units[name.number] = count;
    }
    if (name.number == kNoPiece || random() % 2 == 0) {
      const auto gone =
          std::next(units.begin(), static_cast<std::ptrdiff_t>(random() % units.size()));
      table_.drop(gone->first);
      units.erase(gone);
    }
  }
}

TEST_F(PieceTableTest, WhatIsReadyIsFound) {
  use(16);
  add_ready(0, 4096);
  add_ready(4096, 4096);
  EXPECT_EQ(find(1000, 5000), Found::kWhole);
  EXPECT_EQ(count_, 2u);
  EXPECT_EQ(found_bytes(), 5000u);
  EXPECT_EQ(parts_[0].bytes, table_.memory_of(parts_[0].piece.number) + 1000);
  EXPECT_EQ(find(8000, 1000), Found::kNothing);
  EXPECT_EQ(count_, 0u);
}

TEST_F(PieceTableTest, WhatTheCallerReadsItselfNobodyBeginsAnyMore) {
  use(16);
  add_ready(0, 4096);
  const PieceName wanted = add(4096, 4096), other = add(12288, 4096);
  EXPECT_EQ(find(0, 8192), Found::kNothing);
  EXPECT_FALSE(is_there(wanted));
  EXPECT_TRUE(is_there(other));
}

TEST_F(PieceTableTest, WhatIsBeingFilledIsUnderWay) {
  use(16);
  const PieceName name = add(0, 4096);
  table_.begin_filling(name.number);
  EXPECT_EQ(find(0, 100), Found::kUnderWay);
  table_.end_filling(name.number, 4096);
  EXPECT_EQ(find(0, 100), Found::kWhole);
  const PieceName bad = add(8192, 4096);
  table_.begin_filling(bad.number);
  table_.end_filling(bad.number, -1);
  EXPECT_FALSE(is_there(bad));
}

TEST_F(PieceTableTest, BehindAShortPieceNothingIsKnown) {
  use(16);
  add_ready(0, 4096, 1000);
  EXPECT_EQ(find(0, 1000), Found::kWhole);
  EXPECT_EQ(find(0, 1001), Found::kNothing);
}

TEST_F(PieceTableTest, OrTheFileEndsThere) {
  use(16, {.short_ends_file = true});
  add_ready(0, 4096, 1000);
  EXPECT_EQ(find(0, 8192), Found::kWhole);
  EXPECT_EQ(found_bytes(), 1000u);
  EXPECT_EQ(find(2000, 100), Found::kWhole);
  EXPECT_EQ(count_, 0u);
}

TEST_F(PieceTableTest, OfPiecesThatOverlapAReadyOneIsTaken) {
  use(16, {.overlap = true});
  add_ready(0, 8192);
  add(1024, 4096);
  const PieceName filling = add(2048, 4096);
  table_.begin_filling(filling.number);
  EXPECT_EQ(find(3000, 100), Found::kWhole);
  EXPECT_EQ(found_bytes(), 100u);
}

TEST_F(PieceTableTest, WhatWasUsedMakesRoomBeforeTheRest) {
  use(4);
  const PieceName first = add_ready(0, 4096), used = add_ready(4096, 4096);
  const PieceName held = add_ready(8192, 4096);
  add(12288, 4096);
  EXPECT_EQ(table_.use_bytes(used.number, 4000), 4000u);
  EXPECT_EQ(add(16384, 4096).number, kNoPiece) << "all of it is still waited for";
  EXPECT_EQ(table_.use_bytes(used.number, 4096), 96u);
  EXPECT_NE(add(16384, 4096).number, kNoPiece);
  EXPECT_TRUE(is_there(first));
  EXPECT_FALSE(is_there(used));
  // Nobody waits for them any more.
  table_.hold(held.number);
  now_ns_ = kLong;
  EXPECT_NE(add(20480, 4096).number, kNoPiece);
  EXPECT_FALSE(is_there(first));
  EXPECT_EQ(add(24576, 4096).number, kNoPiece) << "who holds it still has its bytes";
  EXPECT_EQ(table_.named(held)->state, PieceState::kReady) << "to drop it would free nothing";
  table_.let_go(held.number);
  EXPECT_NE(add(24576, 4096).number, kNoPiece);
}

TEST_F(PieceTableTest, ReadsOfOthersMakeAPieceUnused) {
  use(1);
  const PieceName name = add_ready(0, 4096);
  reader_.reads = 128;
  EXPECT_EQ(add(4096, 4096).number, kNoPiece);
  reader_.reads = 129;
  EXPECT_NE(add(4096, 4096).number, kNoPiece);
  EXPECT_FALSE(is_there(name));
}

TEST_F(PieceTableTest, AReaderThatGoesLeavesItsPiecesToWhoNeedsRoom) {
  use(1);
  add_ready(0, 4096);
  PieceReader other;
  EXPECT_EQ(table_.add(index_, &other, {4096, 4096}, 0).number, kNoPiece);
  table_.leave(reader_);
  EXPECT_EQ(find(0, 4096), Found::kWhole);
  EXPECT_NE(table_.add(index_, &other, {4096, 4096}, 0).number, kNoPiece);
}

TEST_F(PieceTableTest, ADroppedPieceKeepsItsMemoryForWhoHasIt) {
  use(1);
  const PieceName name = add(0, 4096);
  table_.begin_filling(name.number);
  table_.drop(name.number);
  EXPECT_EQ(find(0, 4096), Found::kNothing);
  ASSERT_TRUE(is_there(name));
  EXPECT_EQ(table_.named(name)->state, PieceState::kDropped);
  EXPECT_EQ(add(0, 4096).number, kNoPiece);
  table_.end_filling(name.number, 4096);
  EXPECT_FALSE(is_there(name));
  EXPECT_NE(add(0, 4096).number, kNoPiece);
}

TEST_F(PieceTableTest, AllZeroIsEmpty) {
  use(8);
  const PieceName name = add_ready(0, 4096);
  add(4096, 4096);
  std::memset(heads_.data(), 0, heads_.size() * sizeof heads_[0]);
  index_.root = 0;
  index_.count = 0;
  EXPECT_FALSE(is_there(name));
  EXPECT_EQ(find(0, 4096), Found::kNothing);
  EXPECT_NE(add(0, 8 * kUnit).number, kNoPiece);
}

}  // namespace
}  // namespace iotune::prefetch
