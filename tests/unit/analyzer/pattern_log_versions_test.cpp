// A kept log of each version of the format (tests/data/pattern_logs): read, or refused by name. All
// hold the same accesses.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "analyzer/pattern_log/pattern_log.h"

namespace iotune::analyzer {
namespace {

using patterns::Extent;

std::vector<std::byte> kept(const char* name) {
  std::ifstream file(std::string(IOTUNE_TEST_DATA "/pattern_logs/") + name, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A nest and squares modulo a prime.
std::vector<Extent> accesses_of(int rank) {
  std::vector<Extent> accesses;
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) accesses.push_back({1000 * i + 100 * k + 8 * rank, 8});
  }
  for (int i = 0; i < 30; ++i) accesses.push_back({(7919 * i * i) % 100003, 5 + i % 3});
  return accesses;
}

TEST(PatternLogVersions, the_first_is_refused_by_name) {
  const auto bytes = kept("v1.patterns");
  ASSERT_FALSE(bytes.empty());
  EXPECT_FALSE(PatternLogReader::open(bytes));
  EXPECT_NE(std::strstr(PatternLogReader::why_not(bytes), "format 1"), nullptr);
}

TEST(PatternLogVersions, what_is_none_is_not_taken_for_an_older_one) {
  const std::vector<std::byte> bytes{std::byte{0x17}, std::byte{0xb3}};
  EXPECT_FALSE(PatternLogReader::open(bytes));
  EXPECT_STREQ(PatternLogReader::why_not(bytes), "is no pattern log, or damaged");
  EXPECT_STREQ(PatternLogReader::why_not({}), "is no pattern log, or damaged");
}

TEST(PatternLogVersions, the_second_is_read) {
  const auto bytes = kept("v2.patterns");
  const auto log = PatternLogReader::open(bytes);
  ASSERT_TRUE(log);
  ASSERT_EQ(log->streams().size(), 4U);
  for (int rank = 0; rank < 4; ++rank) {
    const auto number = static_cast<std::uint32_t>(rank);
    EXPECT_EQ(log->streams()[number].rank, rank);
    EXPECT_EQ(log->streams()[number].name, "/data/part.000" + std::to_string(rank));
    const std::vector<Extent> expected = accesses_of(rank);
    std::vector<Extent> read(expected.size() + 1);
    auto accesses = log->accesses(number);
    EXPECT_EQ(accesses.read(read), expected.size());
    EXPECT_FALSE(accesses.failed());
    read.pop_back();
    EXPECT_EQ(read, expected);
  }
}

}  // namespace
}  // namespace iotune::analyzer
