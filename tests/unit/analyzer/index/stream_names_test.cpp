#include "analyzer/index/stream_names.h"

#include <gtest/gtest.h>

#include <random>

namespace iotune::analyzer {
namespace {

using Names = std::vector<std::string>;

void expect_kept(const Names& names) {
  const StreamNames packed(names);
  std::vector<std::byte> bytes;
  packed.write(bytes);
  StreamNames read;
  patterns::ByteReader in(bytes);
  ASSERT_TRUE(StreamNames::read(in, 1 << 20, read));
  EXPECT_EQ(in.bytes_left(), 0U);
  ASSERT_EQ(read.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(packed[i], names[i]);
    EXPECT_EQ(read[i], names[i]);
  }
}

TEST(StreamNames, NumbersTextsAndLeadingZerosComeBack) {
  expect_kept({"log.0", "log.1", "log.2", "log.10", "log.11"});
  expect_kept({"log.007", "log.008", "log.010", "log.123", "log.1234"});
  expect_kept({"a", "", "0", "00", "1", "b7", "b07", "12345678901234567890123", "7b", "a-b"});
  expect_kept({"x.1.host3.log", "x.2.host3.log", "x.3.node4.log", "x.4.node4.log", "odd"});
}

TEST(StreamNames, DrawnNamesComeBack) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Names names;
    for (std::uint64_t n = random() % 12 + 1; n > 0; --n) {
      std::string name;
      for (std::uint64_t k = random() % 9; k > 0; --k) name += "0123ab.0"[random() % 8];
      names.push_back(name);
    }
    if (Names(names.size()) != names) expect_kept(names);
  }
}

TEST(StreamNames, AlikeNamesTakeFewBytes) {
  Names names;
  for (int i = 0; i < 512; ++i)
    names.push_back("dropping.data.1353949821.node" + std::to_string(i));
  EXPECT_LT(StreamNames(names).memory_bytes(), 1000U);
}

TEST(StreamNames, DamageIsFoundOrNamesStayWithinBounds) {
  std::vector<std::byte> bytes;
  StreamNames(Names{"log.1", "log.2", "log.3", "log.9", "else"}).write(bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      auto damaged = bytes;
      damaged[i] = static_cast<std::byte>(value);
      StreamNames read;
      patterns::ByteReader in(damaged);
      if (!StreamNames::read(in, 1 << 16, read)) continue;
      for (std::size_t k = 0; k < read.size(); ++k) EXPECT_LE(read[k].size(), 1U << 16U);
    }
  }
}

}  // namespace
}  // namespace iotune::analyzer
