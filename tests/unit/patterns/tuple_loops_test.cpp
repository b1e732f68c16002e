#include "patterns/tuple_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "patterns/loop_finder.h"
#include "round_trip.h"

namespace iotune::patterns {
namespace {

using testing::Bytes;
using testing::encode;
using testing::expect_round_trip;
using testing::Values;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(TupleLoops, short_sequences_come_back) {
  expect_round_trip({0}, 1);
  expect_round_trip({7, 7}, 1);
  expect_round_trip({5, 7, 10, 12, 15}, 1);
  expect_round_trip({1, 2, 3, 4, 5, 6}, 3);
  expect_round_trip({kMin, kMax, kMin, kMax, -1, 0, 1}, 1);
}

TEST(TupleLoops, nothing_is_something) {
  const Bytes none = encode({}, 3);
  EXPECT_EQ(none.size(), 1U);
  EXPECT_TRUE(testing::decode(none, 0, 3).ok);
  std::vector<std::byte> buffer(1);
  ByteWriter out(buffer);
  EXPECT_TRUE(encode_tuples({}, 5, 0, {}, out));  // five tuples of no values
  ByteReader in(out.written());
  EXPECT_TRUE(decode_tuples(in, 5, 0, {}));
}

// The plain form has all of its zeros, the form of terms two masks and a head.
TEST(TupleLoops, a_tuple_alone_takes_the_shorter_form) {
  for (unsigned dims = 1; dims <= 40; ++dims) {
    for (unsigned zeros = 0; zeros <= dims; ++zeros) {
      Values values(dims, 5);
      for (unsigned j = 0; j < zeros; ++j) values[(j * 7) % dims] = 0;
      const auto shown =
          static_cast<std::size_t>(dims - std::count(values.begin(), values.end(), 0));
      const std::size_t masks = (dims + 6) / 7;
      EXPECT_LE(expect_round_trip(values, dims), 1 + std::min<std::size_t>(dims, shown + masks + 2))
          << dims << ", " << zeros;
    }
  }
}

TEST(TupleLoops, a_regular_batch_costs_twelve_bytes_and_three_per_changed_dim) {
  for (const unsigned dims : {1U, 3U, 10U, 30U}) {
    for (unsigned changed = 1; changed <= dims && changed <= 7; ++changed) {
      Values values;
      for (std::int64_t i = 0; i < 8192; ++i) {
        for (unsigned j = 0; j < dims; ++j) values.push_back(j < changed ? i * 4096 : 0);
      }
      EXPECT_LE(expect_round_trip(values, dims), 12 + 3 * changed + (dims + 6) / 7) << dims;
    }
  }
}

TEST(TupleLoops, strides_may_be_zero_negative_or_wrap) {
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{-8}, kMin, kMax, kMin + 1}) {
    Values values;
    std::uint64_t value = 17;
    for (int i = 0; i < 1000; ++i) {
      values.push_back(static_cast<std::int64_t>(value));
      values.push_back(-3);
      value += static_cast<std::uint64_t>(stride);
    }
    EXPECT_LE(expect_round_trip(values, 2), 24U) << stride;
  }
}

TEST(TupleLoops, nests_fold_to_their_depth) {
  Values values;
  for (std::int64_t a = 0; a < 5; ++a) {
    for (std::int64_t b = 0; b < 6; ++b) {
      for (std::int64_t c = 0; c < 7; ++c) {
        for (std::int64_t d = 0; d < 8; ++d) {
          values.push_back(a * 1000000 + b * 70000 - c * 3000 + d * 8);
        }
      }
    }
  }
  EXPECT_LE(expect_round_trip(values, 1), 40U);
}

// One header rewritten in place, data that moves on: equal strides do not exist.
TEST(TupleLoops, atoms_of_a_body_may_move_differently) {
  Values values;
  for (std::int64_t i = 0; i < 1000; ++i) {
    values.insert(values.end(), {0, 96});
    values.insert(values.end(), {4096 + i * 1024, 1024});
    values.insert(values.end(), {1 << 30, i});
  }
  EXPECT_LE(expect_round_trip(values, 2), 60U);
}

TEST(TupleLoops, loops_in_loops_may_move_differently_too) {
  Values values;
  for (std::int64_t t = 0; t < 20; ++t) {
    for (std::int64_t i = 0; i < 30; ++i) {
      values.insert(values.end(), {t * 1000000 + i * 4096, 4096});
      values.insert(values.end(), {(std::int64_t{1} << 40) + t * 7777 + i * 512, 512});
    }
    values.insert(values.end(), {t * t, 1});  // keeps t from being a loop at once
    for (std::int64_t i = 0; i < 9; ++i) values.insert(values.end(), {t * 64 - i * 8, 8});
  }
  EXPECT_LE(expect_round_trip(values, 2), 850U);
  Values without_squares;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    if (values[i + 1] != 1)
      without_squares.insert(without_squares.end(), {values[i], values[i + 1]});
  }
  EXPECT_LE(expect_round_trip(without_squares, 2), 80U);
}

// Of each length that is looked for, and of values whose steps show in the highest bits alone.
TEST(TupleLoops, blocks_of_every_length_fold) {
  for (unsigned length = 1; length <= 64; ++length) {
    for (const unsigned before : {0U, 1U, 2U}) {
      for (const std::int64_t unit :
           {std::int64_t{1}, std::int64_t{1} << 16, std::int64_t{1} << 50}) {
        std::uint64_t random = length;
        const auto drawn = [&random] {
          random = random * 6364136223846793005U + 1442695040888963407U;
          return static_cast<std::int64_t>(random >> 55U);
        };
        Values block;
        for (unsigned i = 0; i < length; ++i) block.push_back(drawn() * unit);
        Values values;
        for (unsigned i = 0; i < before; ++i) values.push_back(drawn() * unit);
        for (int i = 0; i < 40; ++i) values.insert(values.end(), block.begin(), block.end());
        // The block is there once, or twice where a part of it repeats by chance; 40 blocks that
        // are not folded take three times as much.
        EXPECT_LE(expect_round_trip(values, 1, {64}), 12 + 20 * std::size_t{before + length})
            << length << " after " << before << ", unit " << unit;
      }
    }
  }
}

TEST(TupleLoops, equal_bodies_are_written_once) {
  // Blocks of one shape at places without order: no loop holds them together.
  Values values;
  std::int64_t place = 1;
  for (int block = 0; block < 100; ++block) {
    place = place * 48271 % 2147483647;
    for (std::int64_t i = 0; i < 10; ++i) {
      for (std::int64_t k = 0; k < 5; ++k) values.push_back(place * 512 + i * 100000 + k * 4096);
    }
  }
  EXPECT_LE(expect_round_trip(values, 1), 100 * 12U);
}

TEST(TupleLoops, long_blocks_of_stream_ids_fold_where_asked) {
  Values block;
  std::uint64_t random = 1;
  for (int i = 0; i < 64; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    block.push_back(static_cast<std::int64_t>(random >> 33U) % 50);
  }
  Values values;
  for (int i = 0; i < 100; ++i) values.insert(values.end(), block.begin(), block.end());
  EXPECT_LE(expect_round_trip(values, 1, {64}), 140U);
  EXPECT_GT(expect_round_trip(values, 1, {16}), 1000U);
  Values nest;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 7; ++k) nest.insert(nest.end(), {0, 1, 2, 0, 1, 3});
    for (int k = 0; k < 4; ++k) nest.push_back(9);
  }
  EXPECT_LE(expect_round_trip(nest, 1, {64}), 30U);
}

TEST(TupleLoops, noise_costs_at_most_the_plain_form_and_one) {
  std::uint64_t random = 99;
  for (const unsigned dims : {1U, 2U, 7U, 8U, 160U}) {
    Values values;
    for (unsigned i = 0; i < 200 * dims; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      values.push_back(static_cast<std::int64_t>(random) >> (i % 60));
    }
    expect_round_trip(values, dims);  // checks the bound
  }
}

TEST(TupleLoops, noise_between_does_not_spoil_the_rest) {
  Values values;
  for (std::int64_t i = 0; i < 8192; ++i) {
    values.push_back(i % 100 == 37 ? i * i * 31 : i * 4096);
    values.push_back(4096);
  }
  EXPECT_LE(expect_round_trip(values, 2), 82 * 16U);
}

TEST(TupleLoops, deeper_nests_than_the_limit_come_back) {
  Values values;
  for (unsigned i = 0; i < 59049; ++i) {  // 3^10: ten loops of three
    std::int64_t sum = 0;
    std::int64_t factor = 1;
    for (unsigned digits = i; digits != 0; digits /= 3, factor = factor * 7 + 1) {
      sum += digits % 3 * factor;
    }
    values.push_back(sum);
  }
  EXPECT_LE(expect_round_trip(values, 1), 200U);
}

// Fingerprints only say where to look: here all agree although the tuples do not.
TEST(TupleLoops, equal_fingerprints_are_not_believed) {
  const std::uint64_t f0 = column_factor(0);
  const std::uint64_t f1 = column_factor(1);
  std::uint64_t random = 5;
  const auto unseen = [&] { return random = random * 6364136223846793005U + 1442695040888963407U; };
  const auto add = [&](Values& values, std::uint64_t a, std::uint64_t b, std::uint64_t x) {
    values.push_back(static_cast<std::int64_t>(a + f1 * x));
    values.push_back(static_cast<std::int64_t>(b - f0 * x));
  };
  Values noise;  // rules R1 and R2
  for (int i = 0; i < 100; ++i) add(noise, 0, 0, unseen());
  expect_round_trip(noise, 2);
  Values loops;  // an open loop, then bodies whose strides seem equal
  for (std::uint64_t block = 0; block < 20; ++block) {
    const std::uint64_t x = unseen();
    for (std::uint64_t i = 0; i < 10; ++i) add(loops, block * block + i * 8, i, x * i);
    add(loops, block * block + 80, 10, unseen());
  }
  expect_round_trip(loops, 2);
  Values iterations;  // R1 after a loop was closed
  for (std::uint64_t i = 0; i < 60; ++i) {
    add(iterations, i / 2 * 100, 0, 0);
    add(iterations, i / 2 * 100 + 7, i % 2, i % 16 == 9 ? unseen() : 0);
  }
  expect_round_trip(iterations, 2);
}

TEST(TupleLoops, too_little_room_changes_nothing) {
  Values values;
  for (std::int64_t i = 0; i < 100; ++i) values.push_back(i % 7 * i);
  const Bytes whole = encode(values, 1);
  Bytes scratch(scratch_bytes(100, 1));
  for (std::size_t room = 0; room <= whole.size(); ++room) {
    Bytes buffer(room + 1);
    ByteWriter out(buffer);
    out.u8(42);
    const bool fits = encode_tuples(values, 100, 1, scratch, out);
    EXPECT_EQ(fits, room == whole.size());
    EXPECT_FALSE(out.overflowed());
    EXPECT_EQ(out.bytes_used(), fits ? whole.size() + 1 : 1);
  }
  Bytes buffer(1000);
  ByteWriter out(buffer);
  EXPECT_FALSE(encode_tuples(values, 100, 1, std::span(scratch).first(scratch.size() - 1), out));
  EXPECT_FALSE(encode_tuples(values, 101, 1, scratch, out));
  EXPECT_FALSE(encode_tuples(values, 0, kMaxDims + 1, scratch, out));
  EXPECT_EQ(out.bytes_used(), 0U);
}

TEST(TupleLoops, scratch_may_lie_anywhere) {
  Values values;
  for (std::int64_t i = 0; i < 500; ++i) values.push_back(i % 20 * 100 + i / 20 * 3);
  const std::size_t need = scratch_bytes(500, 1);
  for (std::size_t shift = 0; shift < 9; ++shift) {
    Bytes scratch(need + shift);
    Bytes buffer(600);
    ByteWriter out(buffer);
    EXPECT_TRUE(encode_tuples(values, 500, 1, std::span(scratch).subspan(shift), out));
  }
}

TEST(TupleLoops, encodings_follow_each_other) {
  Bytes buffer(100);
  ByteWriter out(buffer);
  const Values one = {1, 2, 3, 4, 5};
  const Values two = {9, 9, 9};
  Bytes scratch(scratch_bytes(5, 1));
  ASSERT_TRUE(encode_tuples(one, 5, 1, scratch, out));
  ASSERT_TRUE(encode_tuples(two, 3, 1, scratch, out));
  ByteReader in(out.written());
  Values back(5);
  EXPECT_TRUE(decode_tuples(in, 5, 1, back));
  EXPECT_EQ(back, one);
  back.resize(3);
  EXPECT_TRUE(decode_tuples(in, 3, 1, back));
  EXPECT_EQ(back, two);
  EXPECT_EQ(in.bytes_left(), 0U);
}

// A hundred million tuples are as long as one loop.
TEST(TupleLoops, simple_loops_are_read_as_runs) {
  Values values;
  for (std::int64_t i = 0; i < 1000; ++i) values.insert(values.end(), {64 * i, 64});
  for (std::int64_t i = 0; i < 500; ++i) values.insert(values.end(), {7 - 5 * i, 8});
  values.insert(values.end(), {3, 3, 1000, 4});
  for (std::int64_t i = 0; i < 300; ++i) values.insert(values.end(), {9 - 5 * i, 1});
  EXPECT_LE(testing::runs_in(encode(values, 2), values.size() / 2, 2), 7U);
  EXPECT_GE(testing::runs_in(encode(values, 2), values.size() / 2, 2), 3U);
  Values nested;
  for (std::int64_t i = 0; i < 1000; ++i) nested.push_back(i / 10 * 1000 + i % 10);
  EXPECT_EQ(testing::runs_in(encode(nested, 1), 1000, 1), 0U);
}

}  // namespace
}  // namespace iotune::patterns
