// Indexes that a writer never made, under right checksums: whatever they say, the reader comes back
// within its limits, and what it then says of the file holds together.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "analyzer/index/tuple_file.h"
#include "fake_files.h"
#include "logstore/read/log_map.h"
#include "patterns/crc32c.h"

namespace iotune::logstore {
namespace {

using testing::FakeClock;
using testing::FakeWriter;
using testing::kId;
using Rows = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

constexpr ReadLimits kLimits = {.block_nests = 10000, .entries = 20000};

// The seven lists of a block.
struct Lists {
  Rows bodies, parts, strides, terms, leaves, holes, knots;
  std::int64_t position = 0, physical = 0, log_bytes = 0;
  std::uint32_t flags = 0;
};

void append_number(Bytes& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void set_crc(std::span<std::byte> block) {
  const std::uint32_t crc = patterns::crc32c(block.data() + 8, block.size() - 8);
  for (unsigned i = 0; i < 4; ++i) block[4 + i] = static_cast<std::byte>(crc >> (8 * i));
}

Bytes index_of(const std::vector<Lists>& blocks) {
  Bytes index(kHeadBytes);
  write_index_head({kId, 1000, 0, 0}, HeadBytes(index));
  for (const Lists& lists : blocks) {
    Bytes payload;
    for (const Rows* rows : {&lists.bodies, &lists.parts, &lists.strides, &lists.terms,
                             &lists.leaves, &lists.holes, &lists.knots}) {
      analyzer::append_tuples(payload, *rows, 2);
    }
    Bytes block;
    append_number(block, kBlockMagic, 4);
    append_number(block, 0, 4);
    append_number(block, payload.size(), 4);
    append_number(block, lists.flags, 4);
    append_number(block, static_cast<std::uint64_t>(lists.position), 8);
    append_number(block, static_cast<std::uint64_t>(lists.physical), 8);
    append_number(block, static_cast<std::uint64_t>(lists.log_bytes), 8);
    block.insert(block.end(), payload.begin(), payload.end());
    set_crc(block);
    index.insert(index.end(), block.begin(), block.end());
  }
  return index;
}

struct Read {
  Result<LogMap> map;
  WriterReport report;
};
Read read(const Bytes& index, std::int64_t log_bytes = 1 << 20) {
  std::vector<WriterReport> reports;
  auto map = LogMap::merge(kId, {{"w", index, log_bytes}}, reports, kLimits);
  return {std::move(map), reports.empty() ? WriterReport{} : reports[0]};
}

// What a map says of the first bytes, and around its end, is in order and without gaps.
void expect_sound(const LogMap& map) {
  ASSERT_GE(map.size(), 0);
  ASSERT_LE(map.size(), kLargestFile);
  for (const std::int64_t from : {std::int64_t{0}, map.size() - 1000, map.size() / 2}) {
    std::int64_t next = std::max<std::int64_t>(0, from);
    for (const LogPiece& piece : map.pieces(next, 2000)) {
      ASSERT_EQ(piece.offset, next);
      ASSERT_GT(piece.length, 0);
      ASSERT_GE(piece.physical, 0);
      if (piece.kind == LogPiece::Kind::kData) {
        ASSERT_LE(piece.physical + piece.length, map.log_bytes(piece.writer));
      }
      next = piece.end();
    }
  }
}

// One loop of `count` writes.
Lists loop(std::int64_t count, std::int64_t stride, std::int64_t growth, std::int64_t length) {
  Lists lists;
  lists.bodies = {1, 1};
  lists.parts = {0, 1};
  lists.strides = {stride, growth};
  lists.terms = {1, count};
  lists.leaves = {0, length};
  lists.knots = {0, 0};
  lists.log_bytes = kLargestFile;
  return lists;
}

TEST(HostileIndex, an_honest_one_is_read) {
  const Read honest = read(index_of({loop(10, 8, 0, 8)}));
  ASSERT_TRUE(honest.map);
  EXPECT_EQ(honest.map->size(), 80);
  EXPECT_EQ(honest.report.entries, 10);
  EXPECT_EQ(read(index_of({loop(10, 8, 1, 8)})).map->size(), 9 * 8 + 17);
}

TEST(HostileIndex, what_breaks_a_rule_is_damage) {
  const auto broken = [](Lists lists) {
    const Bytes index = index_of({lists});
    const Read bad = read(index);
    ASSERT_TRUE(bad.map);
    EXPECT_EQ(bad.map->size(), 0);
    EXPECT_EQ(bad.report.index_bytes_lost, index.size() - kHeadBytes);
  };
  const Lists good = loop(10, 8, 0, 8);
  const auto with = [&](auto change) {
    Lists lists = good;
    change(lists);
    broken(lists);
  };
  with([](Lists& l) { l.parts = {1, 1}; });  // a body in itself
  with([](Lists& l) { l.parts = {2, 1}; });  // or in one that comes later
  with([](Lists& l) { l.parts = {-1, 1}; });
  with([](Lists& l) { l.parts = {0, 2}; });   // an access is no loop
  with([](Lists& l) { l.bodies = {0, 0}; });  // a loop of nothing
  with([](Lists& l) { l.bodies = {INT64_MAX, 1}; });
  with([](Lists& l) { l.bodies = {1, INT64_MAX}; });
  with([](Lists& l) { l.strides = {}; });
  with([](Lists& l) { l.leaves = {}; });
  with([](Lists& l) { l.leaves = {0, 8, 0, 8}; });
  with([](Lists& l) { l.leaves = {-1, 8}; });
  with([](Lists& l) { l.leaves = {0, 0}; });
  with([](Lists& l) { l.leaves = {0, INT64_MIN}; });
  with([](Lists& l) { l.leaves = {INT64_MAX, 8}; });
  with([](Lists& l) { l.leaves = {kLargestFile - 1, 8}; });
  with([](Lists& l) { l.terms = {1, 0}; });
  with([](Lists& l) { l.terms = {1, -1}; });
  with([](Lists& l) { l.terms = {1, INT64_MAX}; });
  with([](Lists& l) { l.strides = {INT64_MAX, 0}; });
  with([](Lists& l) { l.strides = {INT64_MIN, 0}; });
  with([](Lists& l) { l.strides = {0, INT64_MIN}; });
  with([](Lists& l) { l.strides = {0, -1}; });  // the ninth has no length
  with([](Lists& l) { l.holes = {-1, 8}; });
  with([](Lists& l) { l.holes = {8, kLargestFile}; });
  with([](Lists& l) { l.knots = {}; });
  with([](Lists& l) { l.knots = {-1, 0}; });
  with([](Lists& l) { l.knots = {1, 5, 0, 6}; });
  with([](Lists& l) { l.knots = {0, 5, 1, 4}; });
  with([](Lists& l) { l.knots = {0, INT64_MIN}; });
  with([](Lists& l) { l.flags = 2; });
  with([](Lists& l) { l.position = -1; });
  with([](Lists& l) { l.physical = INT64_MAX; });
  with([](Lists& l) { l.log_bytes = 79; });  // less than its writes take
}

TEST(HostileIndex, no_more_loops_stand_in_each_other_than_may) {
  Lists lists = loop(2, 0, 0, 1);
  for (std::int64_t body = 1; body < 9; ++body) {
    lists.bodies.insert(lists.bodies.end(), {1, 1});
    lists.parts.insert(lists.parts.end(), {body, 2});
    lists.strides.insert(lists.strides.end(), {0, 0});
  }
  lists.terms = {9, 2};
  EXPECT_NE(read(index_of({lists})).report.index_bytes_lost, 0U);
  lists.terms = {8, 2};  // the ninth is still there
  EXPECT_NE(read(index_of({lists})).report.index_bytes_lost, 0U);
}

TEST(HostileIndex, a_few_bytes_become_no_more_than_the_limit) {
  // Loops of growing writes, and writes that overlap their neighbours.
  EXPECT_FALSE(read(index_of({loop(std::int64_t{1} << 26, 1, 1, 1)})).map);
  Lists overlapping = loop(std::int64_t{1} << 30, 1, 0, std::int64_t{1} << 28);
  overlapping.flags = kDurable;
  EXPECT_FALSE(read(index_of({overlapping})).map);
  const Lists many = loop(9000, 3, 1, 1);
  Lists next = many;
  next.position = 9000;
  next.physical = std::int64_t{1} << 30;
  next.knots = {0, 1};
  Lists third = next;
  third.position = 18000;
  third.physical = std::int64_t{1} << 31;
  third.knots = {0, 2};
  EXPECT_FALSE(read(index_of({many, next, third})).map);
}

TEST(HostileIndex, blocks_twice_or_in_another_order_count_once) {
  const Lists first = loop(10, 8, 0, 8);
  Lists second = first;
  second.position = 10;
  second.physical = 80;
  second.knots = {0, 5};
  const Read twice = read(index_of({first, first, second, first}));
  EXPECT_EQ(twice.report.entries, 20);
  EXPECT_NE(twice.report.index_bytes_lost, 0U);
}

TEST(HostileIndex, what_a_durable_block_claims_is_missing_and_no_more) {
  Lists lists = loop(10, 8, 0, 8);
  lists.flags = kDurable;
  const Read claimed = read(index_of({lists}), 20);
  EXPECT_EQ(claimed.report.missing_bytes, 60);
  EXPECT_EQ(claimed.map->pieces(0, 100).size(), 11U);  // one of the writes in two parts
  EXPECT_EQ(claimed.map->pieces(79, 1).at(0).kind, LogPiece::Kind::kMissing);
}

TEST(HostileIndex, any_byte_under_a_right_checksum) {
  std::mt19937_64 draw(7);
  for (int round = 0; round < 30; ++round) {
    FakeClock clock;
    FakeWriter writer("w", clock, {.terms = 24, .knots = 12});
    const Bytes bytes(64);
    for (int i = 0; i < 30; ++i) {
      const auto start = static_cast<std::int64_t>(draw() % 1000);
      const std::size_t growth = draw() % 4 == 0 ? 1 : 0;
      for (std::size_t k = 0; k < draw() % 9; ++k) {
        writer.writer.append(start + static_cast<std::int64_t>(k * 40), bytes.data(),
                             9 + growth * k);
      }
      if (draw() % 8 == 0) writer.writer.truncate(start);
      if (draw() % 8 == 0) writer.writer.sync();
    }
    writer.writer.close();
    for (int change = 0; change < 300; ++change) {
      Bytes index = writer.index.bytes;
      // Some byte of some block, and its checksum.
      std::vector<std::pair<std::size_t, std::size_t>> blocks;
      for (std::size_t at = kHeadBytes; at < index.size();) {
        std::uint32_t size = 0;
        std::memcpy(&size, index.data() + at + 8, 4);
        blocks.emplace_back(at, kBlockHeadBytes + size);
        at += blocks.back().second;
      }
      const auto [at, size] = blocks[draw() % blocks.size()];
      for (std::uint64_t n = 1 + draw() % 3; n > 0; --n) {
        index[at + 12 + draw() % (size - 12)] = static_cast<std::byte>(draw());
      }
      set_crc(std::span(index).subspan(at, size));
      const Read changed = read(index, static_cast<std::int64_t>(writer.log.bytes.size()));
      if (changed.map) expect_sound(*changed.map);
      if (HasFailure()) FAIL() << "round " << round << ", change " << change;
    }
  }
}

}  // namespace
}  // namespace iotune::logstore
