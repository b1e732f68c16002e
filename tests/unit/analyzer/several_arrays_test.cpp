// Files of several arrays: what was drawn comes back, and what comes back was drawn.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/bytes/byte_record.h"
#include "analyzer/bytes/verify_shape.h"
#include "tests/generators/judge_arrays.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::analyzer {
namespace {

struct Extent {
  std::uint32_t rank;
  std::uint64_t offset, bytes;
  std::uint64_t nanoseconds = 1;
};

std::vector<DatasetPattern> patterns_in(const std::vector<Extent>& calls, std::uint32_t ranks) {
  std::vector<ByteRuns> runs(ranks);
  std::vector<ByteTallies> tallies(ranks);
  ByteRecord record;
  record.independent = true;
  for (const auto& [rank, offset, bytes, nanoseconds] : calls) {
    runs[rank].add(offset, bytes);
    tallies[rank].add({{offset, 0, 1, bytes}, bytes, 1, nanoseconds, false, false});
    ++record.calls;
  }
  for (std::uint32_t r = 0; r < ranks; ++r) record.take(runs[r], tallies[r], 1);
  return patterns_of(record, true);
}

std::string names_in(const std::vector<Extent>& calls, std::uint32_t ranks) {
  std::string text;
  for (const DatasetPattern& one : patterns_in(calls, ranks)) {
    text += one.dataset + " " + one.descriptor.text() + "; ";
  }
  return text;
}

// One block of each rank from `at` on.
std::uint64_t add_blocks(std::vector<Extent>& calls, std::uint32_t ranks, std::uint64_t at,
                         std::uint64_t bytes, std::uint64_t nanoseconds = 1) {
  for (std::uint32_t r = 0; r < ranks; ++r, at += bytes) {
    calls.push_back({r, at, bytes, nanoseconds});
  }
  return at;
}

TEST(SeveralArrays, DrawnOnesComeBack) {
  const char* const given = std::getenv("IOTUNE_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  testing::Judgement sum;
  std::string faults;
  for (std::uint64_t i = 0; i < testing::drawn_cases(120); ++i) {
    const testing::Judgement one = testing::judge(testing::drawn_file(random));
    sum.arrays += one.arrays;
    sum.right += one.right;
    sum.wrong += one.wrong;
    for (const std::string& fault : one.faults) {
      faults += "file " + std::to_string(i) + " " + fault + "\n";
    }
  }
  // Of so few files a single one is a large share: 60 seeds had 85 to 100 % each. The figure itself
  // is the benchmark's.
  EXPECT_GE(4 * sum.right, 3 * sum.arrays) << sum.right << " of " << sum.arrays << "\n" << faults;
  EXPECT_LE(sum.wrong * 20, sum.arrays) << faults;
}

// Files that had a wrong name once, by what was wrong.
TEST(SeveralArrays, NoWrongNameAgain) {
  struct Drawn {
    std::uint64_t seed, file;
    const char* what;
  };
  for (const Drawn& one : {
           Drawn{101, 28, "an array that begins in a part without a name"},
           Drawn{104, 39, "the same"},
           Drawn{108, 71, "the same, of one rank"},
           Drawn{101, 79, "a last block that is longer than the others by far"},
           Drawn{104, 4, "a first block that is a rank's own piece"},
           Drawn{108, 34, "the same, before a last block that is shorter"},
           Drawn{105, 23, "a row behind a round that ends early"},
           Drawn{601, 65, "a last block that is of no whole elements"},
           Drawn{604, 20, "a first block that is longer than the others by far"},
           Drawn{504, 157, "a piece of the next rank right behind what half of the ranks have"},
           Drawn{606, 155, "the same, with one before it, too"},
           Drawn{502, 3, "a last run of a round that is of no whole elements"},
       }) {
    std::mt19937_64 random(one.seed * 1000003 + one.file);
    const testing::Judgement found = testing::judge(testing::drawn_file(random));
    EXPECT_EQ(found.wrong, 0U) << one.what;
  }
}

// Bytes whose place is not known are said beside the others, and do not spoil them.
TEST(SeveralArrays, BytesWithoutAPlaceAreApart) {
  ByteRecord record;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    ByteRuns runs, below;
    ByteTallies tallies;
    runs.add(rank * 1000, 1000);
    tallies.add({{rank * 1000, 0, 1, 1000}, 1000, 1, 5, false, true});
    OwnedTally unknown;
    if (rank == 1) unknown.add({{}, 100, 2, 7, false, true});
    record.calls += 1 + unknown.calls;
    record.take(runs, tallies, 5 + unknown.nanoseconds, unknown, below);
  }
  const std::vector<DatasetPattern> found = patterns_of(record, true);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].descriptor.text(), "<1D,(BLOCK),(1000)>");
  EXPECT_EQ(found[0].bytes, 4000U);
  EXPECT_EQ(found[0].calls, 4U);
  EXPECT_EQ(found[1].dataset, "(bytes at ?)");
  EXPECT_EQ(found[1].descriptor.text(), "<1D,(IRREGULAR),(100)>");
  EXPECT_EQ(found[1].calls, 2U);
  EXPECT_EQ(found[1].ranks, 1U);
}

// What aggregators moved is the file's array, and never a division among ranks.
TEST(SeveralArrays, AggregatorsAreNoRanks) {
  ByteRecord record;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    ByteRuns runs, below;
    OwnedTally unknown;
    unknown.add({{}, 1000, 1, 7, true, true});
    if (rank % 2 == 0) below.add(512 + rank * 1000, 2000);
    record.calls += 1;
    record.take(runs, {}, 7, unknown, below);
  }
  const std::vector<DatasetPattern> found = patterns_of(record, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].descriptor.text(), "<1D,(IRREGULAR),(1000)>");
  EXPECT_EQ(found[0].ranks, 4U);
  EXPECT_TRUE(
      found[0].ambiguity.starts_with("written by 2 aggregators, as <1D,(*),(4000)> from byte 512"))
      << found[0].ambiguity;
}

// Gaps part them.
TEST(SeveralArrays, AggregatorsOfSeveralArrays) {
  ByteRecord record;
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    ByteRuns runs, below;
    OwnedTally unknown;
    unknown.add({{}, 3000, 3, 7, true, true});
    for (const std::uint64_t array : {100, 5000, 17000}) below.add(array + rank * 1000, 1000);
    record.calls += 3;
    record.take(runs, {}, 7, unknown, below);
  }
  const std::vector<DatasetPattern> found = patterns_of(record, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].ambiguity.starts_with(
      "written by 2 aggregators, as 3 arrays, the largest <1D,(*),(2000)> from byte 100"))
      << found[0].ambiguity;
}

TEST(SeveralArrays, AnArraysCallsAndSecondsAreItsOwn) {
  std::vector<Extent> calls;
  std::uint64_t at = add_blocks(calls, 4, 0, 4000, 1'000'000'000);
  at = add_blocks(calls, 4, at, 1000, 2'000'000'000);
  add_blocks(calls, 4, at, 1000, 3'000'000'000);
  calls.push_back({0, 0, 4000, 1'000'000'000});
  const std::vector<DatasetPattern> found = patterns_in(calls, 4);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].descriptor.text(), "<1D,(BLOCK),(4000)>");
  EXPECT_EQ(found[0].calls, 5U);
  EXPECT_EQ(found[0].bytes, 20000U);
  EXPECT_EQ(found[0].seconds, 2);
  EXPECT_EQ(found[0].repeats, 1U);
  EXPECT_EQ(found[1].descriptor.text(), "<1D,(CYCLIC(1000)),(2000)>");
  EXPECT_EQ(found[1].calls, 8U);
  EXPECT_EQ(found[1].seconds, 5);
}

// What a rank writes right behind an array, or before it, is no part of it.
TEST(SeveralArrays, PiecesOfOneRankAreApart) {
  std::vector<Extent> calls{{0, 0, 272}};
  std::uint64_t at = add_blocks(calls, 2, 272, 16384);
  calls.push_back({0, 100000, 8});
  calls.push_back({1, at, 328});
  EXPECT_EQ(names_in(calls, 2),
            "(bytes) <1D,(*),(272)>; (bytes from 272) <1D,(BLOCK),(16384)>; "
            "(bytes from 33040) <1D,(*),(328)>; (bytes from 100000) <1D,(*),(8)>; ");
}

// Rows of two variables in turn.
TEST(SeveralArrays, RecordVariables) {
  std::vector<Extent> calls;
  std::uint64_t at = 1024;
  for (int record = 0; record < 12; ++record) {
    at = add_blocks(calls, 4, at, 800);
    at = add_blocks(calls, 4, at, 148);
  }
  EXPECT_EQ(names_in(calls, 4),
            "(bytes from 1024, every 3792) <2D,(*,BLOCK),(12,800)>; "
            "(bytes from 4224, every 3792) <2D,(*,BLOCK),(12,148)>; ");
}

// Equal arrays, three, three and two without gaps between.
TEST(SeveralArrays, EqualArraysWithSomeGaps) {
  std::vector<Extent> calls;
  std::uint64_t at = 0;
  for (const std::uint64_t gap : {0, 0, 544, 0, 0, 544, 0, 0}) {
    at = add_blocks(calls, 16, at, 8192) + gap;
  }
  const std::vector<DatasetPattern> found = patterns_in(calls, 16);
  ASSERT_EQ(found.size(), 8U);
  for (const DatasetPattern& one : found) {
    EXPECT_EQ(one.descriptor.text(), "<1D,(BLOCK),(8192)>");
    EXPECT_EQ(one.calls, 16U);
  }
}

// Rank 0 writes two arrays as a whole, one right behind the other, then the ranks write the rows of
// the first in turn, and blocks of half of the second.
TEST(SeveralArrays, FillsThatRanksMoveAgainAreNotWhatTheyHold) {
  std::vector<Extent> calls{{0, 0, 100}, {0, 512, 9600}, {0, 10112, 4800}};
  for (std::uint64_t row = 0; row < 24; ++row) {
    calls.push_back({static_cast<std::uint32_t>(row % 3), 512 + row * 400, 400});
  }
  add_blocks(calls, 3, 10112, 800);
  EXPECT_EQ(names_in(calls, 3),
            "(bytes) <1D,(*),(100)>; (bytes from 512) <1D,(CYCLIC(400)),(3200)>; "
            "(bytes from 10112) <1D,(BLOCK),(800)>; (bytes from 12512) <1D,(*),(2400)>; ");
  const std::vector<DatasetPattern> found = patterns_in(calls, 3);
  EXPECT_EQ(found[1].bytes, 2 * 9600U);
  EXPECT_EQ(found[1].calls, 25U);
  const std::string said = "9600 bytes of it had been moved as a whole before";
  EXPECT_NE(found[1].ambiguity.find(said), std::string::npos) << found[1].ambiguity;
  EXPECT_EQ(found[3].ambiguity.find("as a whole before"), std::string::npos) << found[3].ambiguity;
}

// The same again by the same rank is no fill.
TEST(SeveralArrays, AnArrayThatIsWrittenTwiceIsOne) {
  std::vector<Extent> calls;
  add_blocks(calls, 3, 0, 800);
  add_blocks(calls, 3, 0, 800);
  const std::vector<DatasetPattern> found = patterns_in(calls, 3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].descriptor.text(), "<1D,(BLOCK),(800)>");
  EXPECT_EQ(found[0].repeats, 2U);
}

// Chunks of a dataset, one of each rank in turn, with a table of rank 1 behind every seventh.
std::vector<Extent> chunks_of(const std::vector<std::uint32_t>& owners) {
  std::vector<Extent> calls;
  std::uint64_t at = 2000;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    calls.push_back({owners[i], at, 4096});
    at += 4096;
    if (i % 7 == 6) {
      calls.push_back({1, at, 272});
      at += 300 + i;
    }
  }
  return calls;
}

TEST(SeveralArrays, PiecesOfOneSizeThatLieApartAreAnArray) {
  std::vector<std::uint32_t> owners;
  for (std::uint32_t i = 0; i < 64; ++i) owners.push_back(i % 16);
  const std::vector<DatasetPattern> found = patterns_in(chunks_of(owners), 16);
  ASSERT_EQ(found.size(), 2U) << names_in(chunks_of(owners), 16);
  EXPECT_EQ(found[0].dataset + found[0].descriptor.text(),
            "(bytes from 2000, in pieces of 4096)<1D,(CYCLIC(4096)),(16384)>");
  EXPECT_EQ(found[0].dataset_dims, (std::vector<std::uint64_t>{64 * 4096}));
  EXPECT_EQ(found[0].calls, 64U);
  EXPECT_EQ(found[1].dataset, "(other bytes)");
  EXPECT_EQ(found[1].calls, 9U);
  EXPECT_EQ(found[1].bytes, 9 * 272U);
}

// A table that reaches into a chunk, one that lies in it, and one that reaches over a whole one.
TEST(SeveralArrays, BytesOfATableInAPieceAreThePieces) {
  std::vector<std::uint32_t> owners;
  for (std::uint32_t i = 0; i < 64; ++i) owners.push_back(i % 16);
  std::vector<Extent> calls = chunks_of(owners);
  calls.push_back({9, 1800, 300});   // 100 of them in the first chunk
  calls.push_back({9, 10000, 200});  // all of them in the second one
  const std::uint64_t end = 2000 + 7 * 4096;
  calls.push_back({9, end - 4096 - 50, 4096 + 50 + 20});  // the seventh and 20 of rank 1's table
  const std::vector<DatasetPattern> found = patterns_in(calls, 16);
  ASSERT_EQ(found.size(), 2U) << names_in(calls, 16);
  EXPECT_EQ(found[0].dataset, "(bytes from 2000, in pieces of 4096)");
  EXPECT_EQ(found[0].bytes, 64 * 4096U + 100 + 200 + 4096 + 50);
  EXPECT_EQ(found[1].dataset, "(other bytes)");
  EXPECT_EQ(found[1].bytes, 9 * 272U + 200 + 20);
  // Two calls touch both.
  EXPECT_EQ(found[0].calls, 64U + 3);
  EXPECT_EQ(found[1].calls, 9U + 2);
}

// Pieces of ranks in any order are no array.
TEST(SeveralArrays, PiecesWithoutAnOrderAreNoArray) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> owners;
  for (std::uint32_t i = 0; i < 200; ++i) owners.push_back(random() % 16);
  for (const DatasetPattern& one : patterns_in(chunks_of(owners), 16)) {
    EXPECT_EQ(one.dataset.find("in pieces"), std::string::npos) << one.dataset;
  }
}

// A shape that says something else than what was moved is no name.
TEST(SeveralArrays, AWrongShapeIsFoundOut) {
  IndexSets ranks;
  for (std::uint64_t r = 0; r < 4; ++r) ranks.add(IndexSet::interval(r * 100, 100));
  const InferredShape right = infer_shape(ranks, {});
  EXPECT_TRUE(describes(right, ranks));
  InferredShape wrong = right;
  wrong.described.descriptor.dimensions[0].count = 101;
  EXPECT_FALSE(describes(wrong, ranks));
  wrong = right;
  wrong.described.descriptor.dimensions[0].distribution = Distribution::kCyclic;
  EXPECT_FALSE(describes(wrong, ranks));
  IndexSets others;
  for (std::uint64_t r = 0; r < 4; ++r) others.add(IndexSet::interval(r * 100, r == 2 ? 99 : 100));
  EXPECT_FALSE(describes(right, others));
}

}  // namespace
}  // namespace iotune::analyzer
