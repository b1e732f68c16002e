// Decompositions of arrays are drawn, flattened to the bytes of each rank, and found again in them.
#include "analyzer/bytes/infer_shape.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "analyzer/bytes/byte_record.h"
#include "analyzer/bytes/byte_runs.h"
#include "tests/unit/analyzer/plain_naming.h"

namespace iotune::analyzer {
namespace {

using Random = std::mt19937_64;

// Sanitizers slow these down some 25-fold.
#ifdef __SANITIZE_ADDRESS__
constexpr int kSlower = 10;
#else
constexpr int kSlower = 1;
#endif

std::uint64_t seed_of_test() {
  const char* const given = std::getenv("IOTUNE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

struct Array {
  std::vector<std::uint64_t> dims;
  std::vector<std::vector<std::vector<std::uint64_t>>> parts;  // dimension, part, indices
  std::vector<std::string> names;
  std::vector<std::uint64_t> counts;
  std::uint64_t element_bytes = 1, header_bytes = 0;

  std::uint64_t ranks() const {
    std::uint64_t product = 1;
    for (const auto& of_dimension : parts) product *= of_dimension.size();
    return product;
  }
  std::string text() const {
    std::string distributions, numbers;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      distributions += (d > 0 ? "," : "") + names[d];
      numbers += (d > 0 ? "," : "") + std::to_string(counts[d]);
    }
    return "<" + std::to_string(dims.size()) + "D,(" + distributions + "),(" + numbers + ")>";
  }

  // The first byte of each element of a rank, row by row.
  std::vector<std::uint64_t> bytes_of(std::uint64_t rank) const {
    std::vector<std::uint64_t> at{0};
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto& mine = parts[d][rank % parts[d].size()];
      rank /= parts[d].size();
      std::vector<std::uint64_t> longer;
      for (const std::uint64_t before : at) {
        for (const std::uint64_t i : mine) longer.push_back(before * dims[d] + i);
      }
      at = std::move(longer);
    }
    for (std::uint64_t& one : at) one = header_bytes + one * element_bytes;
    return at;
  }
};

enum Kind { kWhole, kBlock, kCyclic, kCyclicK };

void add_dimension(Array& array, Random& random, Kind kind, std::uint64_t parts,
                   std::uint64_t least_local) {
  std::vector<std::vector<std::uint64_t>> held(kind == kWhole ? 1 : parts);
  std::uint64_t extent = 0;
  if (kind == kWhole || kind == kBlock) {
    const std::uint64_t usual = between(random, least_local, 5);
    const bool even = random() % 2 == 0;
    for (auto& part : held) {
      const std::uint64_t size = even ? usual : between(random, least_local, 5);
      for (std::uint64_t i = 0; i < size; ++i) part.push_back(extent++);
    }
  } else {
    const std::uint64_t k = kind == kCyclic ? 1 : between(random, 2, 3);
    const std::uint64_t elements = random() % 2 == 0 ? parts * k * between(random, 2, 3)
                                                     : parts * k + between(random, 1, parts * k);
    for (; extent < elements; ++extent) held[extent / k % parts].push_back(extent);
  }
  static constexpr const char* kNames[] = {"*", "BLOCK", "CYCLIC", "CYCLIC"};
  array.names.emplace_back(kNames[held.size() == 1 ? 0 : kind]);
  std::uint64_t count = 0;
  for (const auto& part : held) count = std::max<std::uint64_t>(count, part.size());
  array.counts.push_back(count);
  array.dims.push_back(extent);
  array.parts.push_back(std::move(held));
}

IndexSet set_of(const Array& array, std::uint64_t rank, Random& random) {
  ByteRuns runs;
  const std::vector<std::uint64_t> at = array.bytes_of(rank);
  const int steps = random() % 4 == 0 ? 2 : 1;  // written again
  for (int step = 0; step < steps; ++step) {
    for (const std::uint64_t offset : at) runs.add(offset, array.element_bytes);
  }
  EXPECT_EQ(runs.bytes_moved(), steps * at.size() * array.element_bytes);
  return *runs.joined();
}

InferredShape inferred(const Array& array, Random& random, const ShapeHint& hint) {
  std::vector<IndexSet> sets;
  for (std::uint64_t r = 0; r < array.ranks(); ++r) sets.push_back(set_of(array, r, random));
  std::shuffle(sets.begin(), sets.end(), random);
  IndexSets all;
  for (const IndexSet& set : sets) all.add(set);
  return infer_shape(all, hint);
}

// What the plain namer says of the ranks' bytes in an array of these dimensions.
std::string plain_text(const Array& array, const InferredShape& found) {
  std::vector<plain::Share> shares;
  for (std::uint64_t r = 0; r < array.ranks(); ++r) {
    plain::Share share;
    for (const std::uint64_t byte : array.bytes_of(r)) {
      for (std::uint64_t i = 0; i < array.element_bytes; i += found.element_bytes) {
        std::uint64_t element = (byte + i - found.first_byte) / found.element_bytes;
        plain::Index index(found.dims.size());
        for (std::size_t d = index.size(); d-- > 0;) {
          index[d] = static_cast<std::int64_t>(element % found.dims[d]);
          element /= found.dims[d];
        }
        EXPECT_EQ(element, 0U) << "an element beyond the array";
        share.insert(index);
      }
    }
    shares.push_back(std::move(share));
  }
  return plain::descriptor_of(shares);
}

// Whatever was drawn, the array found is one of no more dimensions, and it divides just so.
TEST(InferShape, WhatIsFoundIsTrueAndNoLarger) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 500 / kSlower; ++round) {
    Array array;
    const std::size_t n = between(random, 1, 4);
    std::uint64_t cells = 1;
    for (std::size_t d = 0; d < n; ++d) {
      const auto kind = cells > 12 ? kWhole : static_cast<Kind>(random() % 4);
      add_dimension(array, random, kind, between(random, 2, n < 3 ? 4 : 3), 1);
      cells *= array.parts.back().size();
    }
    array.element_bytes = std::uint64_t{1} << (random() % 4);
    array.header_bytes = random() % 2 == 0 ? 0 : 8 * (random() % 300);
    ShapeHint hint;
    if (random() % 2 == 0) hint.element_bytes = array.element_bytes;
    const InferredShape found = inferred(array, random, hint);
    std::string what = "round " + std::to_string(round) + " drawn " + array.text() + " of";
    for (std::size_t d = 0; d < n; ++d) {
      what += " " + std::to_string(array.dims[d]) + "/" + std::to_string(array.parts[d].size());
    }
    const std::string text = found.described.descriptor.text();
    ASSERT_EQ(text.find("IRREGULAR"), std::string::npos) << what;
    EXPECT_LE(found.dims.size(), n) << what << " found " << text;
    EXPECT_EQ(text, plain_text(array, found)) << what;
    EXPECT_FALSE(found.ambiguity.empty());
    EXPECT_EQ(found.described.ranks, array.ranks());
  }
}

// Blocks of at least two in every dimension leave nothing open.
TEST(InferShape, BlocksInAllDimensionsComeBackExactly) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 200 / kSlower; ++round) {
    Array array;
    const std::size_t n = between(random, 1, 5);
    for (std::size_t d = 0; d < n; ++d) {
      add_dimension(array, random, kBlock, n < 4 ? between(random, 2, 4) : 2, 2);
    }
    array.element_bytes = 4;
    array.header_bytes = 512 * (random() % 3);
    ShapeHint hint;
    hint.element_bytes = 4;
    const InferredShape found = inferred(array, random, hint);
    ASSERT_EQ(found.described.descriptor.text(), array.text()) << "round " << round;
    EXPECT_EQ(found.dims, array.dims);
    EXPECT_EQ(found.first_byte, array.header_bytes);
  }
}

// Also of the most dimensions that there are: of few lengths of a row there are many chains.
TEST(InferShape, BlocksInEightDimensionsComeBackExactly) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const std::size_t n : {6, 8}) {
    Array array;
    for (std::size_t d = 0; d < n; ++d) {
      const std::uint64_t local = between(random, 2, kSlower > 1 ? 2 : 3);
      std::vector<std::vector<std::uint64_t>> held(2);
      for (std::uint64_t i = 0; i < 2 * local; ++i) held[i / local].push_back(i);
      array.names.emplace_back("BLOCK");
      array.counts.push_back(local);
      array.dims.push_back(2 * local);
      array.parts.push_back(std::move(held));
    }
    array.element_bytes = 4;
    ShapeHint hint;
    hint.element_bytes = 4;
    const InferredShape found = inferred(array, random, hint);
    ASSERT_EQ(found.described.descriptor.text(), array.text());
    EXPECT_EQ(found.dims, array.dims);
    EXPECT_EQ(found.described.process_grid, std::vector<std::uint64_t>(n, 2));
  }
}

TEST(InferShape, ADeclaredArrayComesBackExactly) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300 / kSlower; ++round) {
    Array array;
    const std::size_t n = between(random, 2, 5);
    std::uint64_t cells = 1;
    for (std::size_t d = 0; d < n; ++d) {
      const bool whole = cells > 12 || random() % 3 == 0;
      const Kind kind = whole ? kWhole : kBlock;
      add_dimension(array, random, kind, 2, 1);
      cells *= array.parts.back().size();
    }
    array.element_bytes = 8;
    array.header_bytes = 100;
    ShapeHint hint;
    hint.element_bytes = 8;
    hint.origin = 100;
    std::uint64_t bytes = 8;
    for (std::size_t d = n; d-- > 0;) {
      bytes *= array.dims[d];
      if (d > 0) hint.row_bytes.insert(hint.row_bytes.begin(), bytes);
    }
    hint.array_bytes = bytes;
    const InferredShape found = inferred(array, random, hint);
    ASSERT_EQ(found.described.descriptor.text(), array.text()) << "round " << round;
    EXPECT_EQ(found.dims, array.dims);
    EXPECT_TRUE(found.declared);
    EXPECT_TRUE(found.ambiguity.empty());
  }
}

// Any bytes: what gets a name has it rightly.
TEST(InferShape, NoWrongNames) {
  const std::uint64_t seed = seed_of_test();
  SCOPED_TRACE("IOTUNE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  int irregular = 0;
  for (int round = 0; round < 400 / kSlower; ++round) {
    Array array;  // one dimension whose parts are anything
    array.dims = {64};
    array.parts.emplace_back(between(random, 1, 4));
    const std::uint64_t kind = random() % 3;
    for (std::size_t r = 0; r < array.parts[0].size(); ++r) {
      auto& mine = array.parts[0][r];
      for (std::uint64_t i = 0; i < 64; ++i) {
        const bool held = kind == 0   ? random() % 3 == 0
                          : kind == 1 ? (i / 8 + i % 8 / 2 + r) % 4 == 0  // diagonal
                                      : i / 16 == r && i % 3 != 0;        // strided inside
        if (held) mine.push_back(i);
      }
      if (mine.empty()) mine.push_back(r);
    }
    const InferredShape found = inferred(array, random, {});
    const std::string text = found.described.descriptor.text();
    if (text.find("IRREGULAR") != std::string::npos) {
      ++irregular;
    } else {
      EXPECT_EQ(text, plain_text(array, found)) << "round " << round << " kind " << kind;
    }
  }
  EXPECT_GT(irregular, 100 / kSlower);
}

std::string names_of(
    const std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>& ranks) {
  ByteRecord record;
  for (const auto& extents : ranks) {
    ByteRuns runs;
    ByteTallies tallies;
    for (const auto& [offset, bytes] : extents) {
      runs.add(offset, bytes);
      tallies.add({{offset, 0, 1, bytes}, bytes, 1, 1, false, false});
    }
    record.take(runs, tallies, 1);
  }
  std::string text;
  for (const DatasetPattern& one : patterns_of(record, true)) {
    text += one.dataset + " " + one.descriptor.text() + "; ";
  }
  return text;
}

// What one rank writes ahead of an array, right before its own part of it.
TEST(InferShape, AHeaderThatTouchesTheArray) {
  for (const std::uint64_t header : {1, 100, 512}) {
    const std::string from = "; (bytes from " + std::to_string(header) + ") ";
    const std::string head = "(bytes) <1D,(*),(" + std::to_string(header) + ")>";
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> boxes(4), cyclic(4), block(4);
    boxes[0] = cyclic[0] = block[0] = {{0, header}};
    for (std::uint64_t r = 0; r < 4; ++r) {
      for (std::uint64_t row = 0; row < 6; ++row) {
        boxes[r].emplace_back(header + ((r / 2 * 6 + row) * 2 + r % 2) * 40, 40);
        cyclic[r].emplace_back(header + (row * 4 + r) * 8, 8);
      }
      block[r].emplace_back(header + r * 801, 801);
    }
    EXPECT_EQ(names_of(boxes), head + from + "<2D,(BLOCK,BLOCK),(6,40)>; ");
    EXPECT_EQ(names_of(cyclic), head + from + "<1D,(CYCLIC(8)),(48)>; ");
    // Its own call sets a header of a byte apart from a longer block.
    EXPECT_EQ(names_of(block), head + from + "<1D,(BLOCK),(801)>; ");
  }
}

// As HDF5 lets ranks write their share of a file's tables.
TEST(InferShape, TablesOfSeveralRanksBeforeTheArray) {
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranks(4);
  ranks[0] = {{0, 136}};
  ranks[1] = {{136, 544}, {680, 120}};
  ranks[3] = {{1072, 328}};
  for (std::uint64_t r = 0; r < 4; ++r) ranks[r].emplace_back(2048 + r * 20000, 20000);
  const std::string found = names_of(ranks);
  EXPECT_NE(found.find("; (bytes from 2048) <1D,(BLOCK),(20000)>; "), std::string::npos) << found;
  // Nor are they part of it where they touch it.
  ranks[3] = {{1072, 328}, {62048, 20000}, {2018, 30}, {82048, 200}};
  const std::string touching = names_of(ranks);
  EXPECT_NE(touching.find("; (bytes from 2048) <1D,(BLOCK),(20000)>; "), std::string::npos)
      << touching;
}

TEST(InferShape, TheLastBytesThatAFileMayHave) {
  constexpr std::uint64_t kRanks = 4, kTurns = 20, kBytes = 40;
  for (const std::uint64_t begin : {std::uint64_t{0}, INT64_MAX - kRanks * kTurns * kBytes}) {
    IndexSets ranks;
    for (std::uint64_t r = 0; r < kRanks; ++r) {
      ByteRuns runs;
      for (std::uint64_t k = 0; k < kTurns; ++k)
        runs.add(begin + (k * kRanks + r) * kBytes, kBytes);
      const std::optional<IndexSet> set = runs.joined();
      ASSERT_TRUE(set);
      ranks.add(*set);
    }
    const InferredShape found = infer_shape(ranks, {});
    EXPECT_EQ(found.described.descriptor.text(), "<1D,(CYCLIC(40)),(800)>");
    EXPECT_EQ(found.first_byte, begin);
  }
  ByteRuns past;
  past.add(INT64_MAX - 1, 2);
  EXPECT_FALSE(past.joined());
}

// Of more bytes than 64 bits count it is known that they are no fewer.
TEST(InferShape, SumsStopAtTheLargestNumber) {
  ByteRuns runs;
  for (int i = 0; i < 3; ++i) runs.add(0, INT64_MAX);
  EXPECT_EQ(runs.bytes_moved(), UINT64_MAX);
  ASSERT_TRUE(runs.joined());
  EXPECT_EQ(runs.joined()->size(), static_cast<std::uint64_t>(INT64_MAX));
}

TEST(InferShape, RandomOffsetsAreGivenUp) {
  Random random(1);
  ByteRuns runs;
  for (int i = 0; i < 300'000; ++i)
    runs.add(random() % (std::uint64_t{1} << 40U), 1 + random() % 9);
  EXPECT_FALSE(runs.joined());
}

}  // namespace
}  // namespace iotune::analyzer
