// Any byte may be wrong: decoding then fails or yields some values, but never
// leaves its buffers (run under the asan preset), and who passes over the bytes notices the same
// (decode() holds skip_tuples against it).
#include <gtest/gtest.h>

#include <utility>

#include "round_trip.h"

namespace iotune::patterns {
namespace {

using testing::Bytes;
using testing::decode;
using testing::encode;
using testing::Values;

// Returns how many of the damaged forms were noticed.
std::size_t damage_everywhere(const Values& values, unsigned dims) {
  const std::size_t n = values.size() / dims;
  const Bytes whole = encode(values, dims);
  std::size_t noticed = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(decode(cut, n, dims).ok) << "cut at " << i;
    for (unsigned value = 0; value < 256; ++value) {
      Bytes damaged = whole;
      damaged[i] = static_cast<std::byte>(value);
      noticed += decode(damaged, n, dims).ok ? 0 : 1;
      if (::testing::Test::HasFailure()) return noticed;
    }
  }
  return noticed;
}

TEST(Damage, of_a_nest) {
  Values values;
  for (std::int64_t i = 0; i < 120; ++i) {
    values.insert(values.end(), {i / 20 * 10000 + i / 4 % 5 * 100 + i % 4, 8, 1});
  }
  EXPECT_GT(damage_everywhere(values, 3), 100U);
}

TEST(Damage, of_loops_without_one_stride) {
  Values values;
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) {
      values.insert(values.end(), {i * 1000 + k * 10, 0});
      values.insert(values.end(), {i * -7 + k * 3, k});
    }
    for (std::int64_t k = 0; k < 5; ++k) values.insert(values.end(), {k * 10, 5});
    values.insert(values.end(), {i, 9});
  }
  EXPECT_GT(damage_everywhere(values, 2), 100U);
}

TEST(Damage, of_repeated_bodies) {
  Values values;
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) {
      for (std::int64_t l = 0; l < 3; ++l) values.push_back(i * i * i * 1000 + k * 50 + l);
    }
  }
  EXPECT_GT(damage_everywhere(values, 1), 100U);
}

TEST(Damage, of_the_plain_form) {
  Values values;
  for (std::int64_t i = 0; i < 20; ++i) values.push_back(i * i * 7919 % 1013);
  EXPECT_GT(damage_everywhere(values, 1), 10U);
  EXPECT_GT(damage_everywhere(values, 2), 10U);
}

TEST(Damage, sizes_that_were_never_written) {
  Values values;
  for (std::int64_t i = 0; i < 60; ++i) values.insert(values.end(), {i % 10 * 8, i / 10});
  const Bytes whole = encode(values, 2);
  for (unsigned dims = 0; dims <= 4; ++dims) {
    for (std::size_t n = 0; n < 70; ++n) {
      EXPECT_TRUE(!decode(whole, n, dims).ok || (n == 60 && dims >= 2)) << n << ' ' << dims;
    }
  }
  Values too_short(119);
  ByteReader in(whole);
  EXPECT_FALSE(decode_tuples(in, 60, 2, too_short));
}

// Nothing has the plain form alone (libFuzzer found the packed one).
TEST(Damage, forms_of_nothing) {
  for (unsigned mode = 0; mode < 4; ++mode) {
    const Bytes bytes = {static_cast<std::byte>(mode), std::byte{4}, std::byte{0}};
    for (const auto& [n, dims] : {std::pair{968U, 0U}, std::pair{0U, 3U}, std::pair{0U, 0U}}) {
      ByteReader values(bytes), passed(bytes);
      EXPECT_EQ(decode_tuples(values, n, dims, {}), mode == 0) << mode << ' ' << n << ' ' << dims;
      EXPECT_EQ(skip_tuples(passed, n, dims), mode == 0) << mode << ' ' << n << ' ' << dims;
    }
  }
}

// A few bytes that ask for much: as many loops in loops as there may be, and more.
TEST(Damage, deep_nests_end) {
  for (unsigned depth = 1; depth <= 20; ++depth) {
    Bytes bytes = {std::byte{1}, std::byte{1}, std::byte{2}};  // terms, column 0, first value 1
    for (unsigned i = 0; i < depth; ++i) {
      bytes.insert(bytes.end(),
                   {std::byte{1}, std::byte{2}, std::byte{2}});  // loop, twice, one part
    }
    bytes.push_back(std::byte{0});                                       // one atom
    for (unsigned i = 0; i < depth; ++i) bytes.push_back(std::byte{6});  // stride 3
    const std::size_t n = std::size_t{1} << depth;
    EXPECT_EQ(decode(bytes, n, 1).ok, depth <= kMaxLoopDepth) << depth;
  }
}

}  // namespace
}  // namespace iotune::patterns
