// The fixed bytes of a container, and what is refused of them.
#include "logstore/format.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "patterns/crc32c.h"

namespace iotune::logstore {
namespace {

using Head = std::array<std::byte, kHeadBytes>;

void set_crc(Head& bytes) {
  const std::uint32_t crc = patterns::crc32c(bytes.data(), kHeadBytes - 4);
  for (unsigned i = 0; i < 4; ++i) {
    bytes[kHeadBytes - 4 + i] = static_cast<std::byte>(crc >> (8 * i));
  }
}

TEST(LogFormat, the_description_has_its_bytes) {
  Head bytes{};
  write_description({0x0807060504030201U, 0x1122}, bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), "IOTUNE-LOGSTORE", 16), 0);
  EXPECT_EQ(bytes[16], std::byte{1});
  EXPECT_EQ(bytes[24], std::byte{1});
  EXPECT_EQ(bytes[31], std::byte{8});
  EXPECT_EQ(bytes[32], std::byte{0x22});
  EXPECT_EQ(bytes[33], std::byte{0x11});
  Description read{};
  std::uint32_t version = 0;
  ASSERT_EQ(read_description(bytes, read, version), HeadProblem::kNone);
  EXPECT_EQ(version, 1U);
  EXPECT_EQ(read.container_id, 0x0807060504030201U);
  EXPECT_EQ(read.made_ns, 0x1122);
}

TEST(LogFormat, the_head_of_an_index_has_its_bytes) {
  Head bytes{};
  write_index_head({7, 1000, -5, -1}, bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), "IOTUNE-LOGINDEX", 16), 0);
  EXPECT_EQ(bytes[24], std::byte{7});
  EXPECT_EQ(bytes[40], std::byte{0xfb});
  IndexHead read{};
  std::uint32_t version = 0;
  ASSERT_EQ(read_index_head(bytes, read, version), HeadProblem::kNone);
  EXPECT_EQ(read.container_id, 7U);
  EXPECT_EQ(read.begin_ns, 1000);
  EXPECT_EQ(read.shift_ns, -5);
  EXPECT_EQ(read.error_ns, -1);
}

TEST(LogFormat, every_changed_byte_is_noticed) {
  Head good{};
  write_index_head({7, 1000, -5, -1}, good);
  IndexHead read{};
  std::uint32_t version = 0;
  for (std::size_t i = 0; i < kHeadBytes; ++i) {
    for (const unsigned bit : {1U, 0x80U}) {
      Head bytes = good;
      bytes[i] ^= static_cast<std::byte>(bit);
      EXPECT_NE(read_index_head(bytes, read, version), HeadProblem::kNone) << i;
    }
  }
}

TEST(LogFormat, a_newer_version_is_reported_even_if_its_bytes_lie_elsewhere) {
  Head bytes{};
  write_description({1, 2}, bytes);
  bytes[16] = std::byte{9};
  Description read{};
  std::uint32_t version = 0;
  EXPECT_EQ(read_description(bytes, read, version), HeadProblem::kNewer);
  EXPECT_EQ(version, 9U);
}

TEST(LogFormat, unknown_flags_and_no_id_are_refused) {
  Head bytes{};
  Description read{};
  std::uint32_t version = 0;
  write_description({1, 2}, bytes);
  bytes[20] = std::byte{4};
  set_crc(bytes);
  EXPECT_EQ(read_description(bytes, read, version), HeadProblem::kUnknownFlags);
  write_description({0, 2}, bytes);
  EXPECT_EQ(read_description(bytes, read, version), HeadProblem::kDamaged);
}

TEST(LogFormat, an_index_is_no_description) {
  Head bytes{};
  write_index_head({7, 1000, 0, 0}, bytes);
  Description read{};
  std::uint32_t version = 0;
  EXPECT_EQ(read_description(bytes, read, version), HeadProblem::kNotOurs);
}

TEST(LogFormat, names_of_writers_lead_nowhere_else) {
  const auto good = [](const std::string& name) {
    return is_writer_name(name.data(), name.size());
  };
  EXPECT_TRUE(good("nid02048.4711.3"));
  EXPECT_TRUE(good(std::string(kLongestWriterName, 'a')));
  EXPECT_FALSE(good(std::string(kLongestWriterName + 1, 'a')));
  for (const char* name : {"", ".", "..", "-a", "_a", "../a", "a/b", "a b", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(good(name)) << name;
  }
  EXPECT_FALSE(good(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace iotune::logstore
