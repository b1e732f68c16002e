// An index as bytes: what is written comes back, ranks' indexes join, and damage is found.
#include "analyzer/index/index_file.h"

#include <gtest/gtest.h>

#include <random>

#include "model.h"

namespace iotune::analyzer {
namespace {

using testing::Batch;
using testing::built;
using testing::expect_same;
using testing::Extents;
using testing::Model;

Extents strided(std::int64_t first, std::int64_t stride, std::int64_t length, std::int64_t count) {
  Extents all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back({first + i * stride, length});
  return all;
}

// Rank by rank a share of every record, a header that is written again, and two single accesses.
std::vector<Batch> batches() {
  std::vector<Batch> all;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    Batch batch{(rank * 5 + 2) % 6, strided(64 + 10 * rank, 70, 10, 12), {}};
    if (rank == 3) batch.accesses.insert(batch.accesses.begin(), 5, {0, 16});
    if (rank == 4) batch.accesses.push_back({990, 7});
    if (rank == 5) batch.accesses.push_back({120, 31});  // over what others wrote
    for (std::size_t i = 0; i < batch.accesses.size(); ++i) {
      batch.times.push_back(static_cast<std::int64_t>(100 * i + rank * 7));
    }
    all.push_back(batch);
  }
  return all;
}

void add(IndexBuilder& builder, const Batch& batch) {
  const auto wrong = builder.add(batch.stream, batch.accesses, BatchTimes(std::span(batch.times)));
  ASSERT_FALSE(wrong) << wrong->text();
  builder.set_name(batch.stream, "dropping.data.170000." + std::to_string(batch.stream));
}

OffsetIndex index_of(const std::vector<Batch>& all) {
  IndexBuilder builder;
  for (const Batch& batch : all) add(builder, batch);
  return built(builder);
}

Model model_of(const std::vector<Batch>& all) {
  Model model;
  for (const Batch& batch : all) model.add(batch);
  return model;
}

TEST(IndexFile, WhatIsWrittenIsRead) {
  const OffsetIndex index = index_of(batches());
  const auto bytes = write_index(index);
  const auto read = read_index(bytes);
  ASSERT_TRUE(read) << read.error().text();
  expect_same(*read, model_of(batches()), "read");
  EXPECT_EQ(read->streams(), 6U);
  EXPECT_EQ(read->stream_name(4), "dropping.data.170000.4");
  EXPECT_EQ(read->stream_end(4), index.stream_end(4));
  EXPECT_EQ(read->time_of(2, 3), index.time_of(2, 3));
  EXPECT_EQ(read->nests(), index.nests());
  EXPECT_EQ(read->segments(), index.segments());
}

TEST(IndexFile, RanksAppendTheirs) {
  std::vector<std::byte> bytes = index_file_head();
  for (const Batch& batch : batches()) {
    const auto block = index_block(index_of({batch}).parts());
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  const auto read = read_index(bytes);
  ASSERT_TRUE(read) << read.error().text();
  expect_same(*read, model_of(batches()), "appended");
  // Folded over the ranks as if built at once.
  EXPECT_EQ(read->nests(), index_of(batches()).nests());
}

TEST(IndexFile, IndexesOfRanksJoinUnderNewNumbers) {
  IndexBuilder builder;
  Model model;
  std::uint32_t rank = 0;
  for (Batch batch : batches()) {
    batch.stream = 0;  // each rank knows only itself
    const auto wrong = builder.add(index_of({batch}), rank);
    ASSERT_FALSE(wrong) << wrong->text();
    batch.stream = rank++;
    model.add(batch);
  }
  expect_same(built(builder), model, "joined");
}

TEST(IndexFile, AStreamGoesOnBehindItsLastBlock) {
  const Batch first{0, strided(0, 8, 8, 20), {}};
  const Batch second{0, strided(40, 8, 8, 30), {}};
  IndexBuilder builder;
  ASSERT_FALSE(builder.add(0, first.accesses));
  const auto read = read_index(write_index(built(builder)));
  ASSERT_TRUE(read) << read.error().text();
  IndexBuilder later;
  ASSERT_FALSE(later.add(*read));
  ASSERT_FALSE(later.add(0, second.accesses));
  expect_same(built(later), model_of({first, second}), "went on");
}

// As a log store appends: each flush is a block of its own, and knows only where it begins.
TEST(IndexFile, AFlushIsABlockThatBeginsWhereTheLastEnded) {
  auto bytes = index_file_head();
  std::vector<Batch> all;
  StreamEnd end;
  for (std::int64_t flush = 0; flush < 5; ++flush) {
    all.push_back({0, strided(flush * 100, 10, 10, 10), {}});
    for (std::int64_t i = 0; i < 10; ++i) all.back().times.push_back(flush * 1000 + i);
    IndexBuilder builder;
    builder.begin_at(0, end);
    add(builder, all.back());
    const OffsetIndex index = built(builder);
    end = index.stream_end(0);
    const auto block = index_block(index.parts());
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  const auto read = read_index(bytes);
  ASSERT_TRUE(read) << read.error().text();
  expect_same(*read, model_of(all), "flushes");
  EXPECT_EQ(read->nests(), 1U);  // what goes on is one loop
  EXPECT_EQ(read->stream_end(0), (StreamEnd{50, 500}));
}

TEST(IndexFile, EveryByteSetToOthersIsFound) {
  const auto bytes = write_index(index_of(batches()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      auto damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(flip);
      EXPECT_FALSE(read_index(damaged)) << "byte " << i;
    }
  }
}

TEST(IndexFile, EveryTruncationIsFound) {
  const auto bytes = write_index(index_of(batches()));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = read_index(std::span(bytes).first(size));
    EXPECT_EQ(static_cast<bool>(read), size == index_file_head().size()) << size;
  }
}

TEST(IndexFile, BlocksBehindDamageAreRead) {
  const auto block = index_block(index_of(batches()).parts());
  auto bytes = index_file_head();
  bytes.insert(bytes.end(), block.begin(), block.end());
  bytes.back() ^= std::byte{1};
  bytes.insert(bytes.end(), block.begin(), block.end());
  const auto blocks = read_index_blocks(bytes);
  ASSERT_TRUE(blocks) << blocks.error().text();
  EXPECT_EQ(blocks->blocks.size(), 1U);
  EXPECT_EQ(blocks->bytes_passed_over, block.size());
  const auto read = read_index(bytes, true);
  ASSERT_TRUE(read) << read.error().text();
  expect_same(*read, model_of(batches()), "behind damage");
}

// Right checksums around wrong content: nothing may crash, hang or take memory past the limit.
TEST(IndexFile, HostileContentIsRefusedOrAnswers) {
  const IndexParts parts = index_of(batches()).parts();
  std::mt19937_64 random(7);
  const auto odd = [&]() -> std::int64_t {
    constexpr std::int64_t kOdd[] = {0, -1, 1, INT64_MAX, INT64_MIN, kMostBytes, 1 << 20, 7};
    return kOdd[random() % 8];
  };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    IndexParts wrong = parts;
    Nest& nest = wrong.nests[random() % wrong.nests.size()];
    NestLevel& level = nest.levels[random() % nest.levels.size()];
    std::int64_t* const fields[] = {
        &nest.start,   &nest.length, &nest.position,       &nest.physical,       &nest.slot,
        &level.stride, &level.count, &level.position_step, &level.physical_step, &level.slot_step};
    *fields[random() % 10] = odd();
    if (random() % 4 == 0)
      wrong.slots[random() % wrong.slots.size()] = static_cast<std::uint32_t>(odd());
    if (random() % 4 == 0) wrong.ends[random() % wrong.ends.size()] = {odd(), odd()};
    if (random() % 4 == 0) wrong.knots.begin()->second[0] = {odd(), odd()};
    if (random() % 4 == 0) {
      Segment& s = wrong.segments[random() % wrong.segments.size()];
      s = {odd(), odd(), odd(), odd(), static_cast<std::uint32_t>(odd())};
    }
    auto bytes = index_file_head();
    const auto block = index_block(wrong);
    bytes.insert(bytes.end(), block.begin(), block.end());
    ReadLimits limits;
    limits.block_bytes = 1 << 20;
    limits.index.entries = 1 << 12;
    const auto read = read_index(bytes, false, limits);
    refused += read ? 0 : 1;
    if (read) read->at(static_cast<std::int64_t>(random() % 1200));
  }
  EXPECT_GT(refused, 1000);
}

TEST(IndexFile, SmallBytesThatStandForMuchAreRefused) {
  IndexParts parts;
  parts.ends.resize(1 << 20);  // some ten bytes in the file
  auto bytes = index_file_head();
  const auto block = index_block(parts);
  EXPECT_LT(block.size(), 200U);
  bytes.insert(bytes.end(), block.begin(), block.end());
  ReadLimits limits;
  limits.block_bytes = 1 << 20;
  EXPECT_FALSE(read_index(bytes, false, limits));
}

TEST(IndexTimes, decide_only_where_accesses_overlap_and_may_be_set_when_that_is_known) {
  // Of each stream, by itself and in a loop: what the other one writes, too, or not.
  const auto built = [](bool loops, bool overlap, std::int64_t first_time) {
    IndexBuilder builder;
    std::vector<patterns::Extent> some;
    for (int i = 0; i < (loops ? 20 : 1); ++i) some.push_back({i * 100, 10});
    EXPECT_FALSE(builder.add(0, some));
    for (patterns::Extent& one : some) one.offset += overlap ? 5 : 10;
    EXPECT_FALSE(builder.add(1, some));
    EXPECT_FALSE(builder.set_times(0, {{0, first_time}}));
    EXPECT_FALSE(builder.set_times(1, {{0, 7}}));
    return builder.build();
  };
  for (const bool loops : {false, true}) {
    EXPECT_FALSE(built(loops, false, 0)->times_decide()) << loops;
    EXPECT_TRUE(built(loops, true, 0)->times_decide()) << loops;
    EXPECT_EQ(built(loops, true, 6)->at(7).stream, 1U) << loops;
    EXPECT_EQ(built(loops, true, 8)->at(7).stream, 0U) << loops;
  }
  IndexBuilder builder;
  EXPECT_TRUE(builder.set_times(0, {{0, 7}, {3, 6}}));
  EXPECT_TRUE(builder.set_times(0, {{-1, 7}}));
  EXPECT_TRUE(builder.set_times(UINT32_MAX, {{0, 7}}));
}

}  // namespace
}  // namespace iotune::analyzer
