#include "patterns/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "patterns/crc32c.h"

namespace iotune::patterns {
namespace {

constexpr std::uint64_t kEdges[] = {0,      1,           0x7f,        0x80, 0x3fff,
                                    0x4000, 0xffffffffU, 1ULL << 63U, ~0ULL};

TEST(Bytes, every_kind_comes_back) {
  std::vector<std::byte> buffer(1000);
  ByteWriter out(buffer);
  for (const std::uint64_t v : kEdges) {
    out.u8(static_cast<std::uint8_t>(v));
    out.u32le(static_cast<std::uint32_t>(v));
    out.u64le(v);
    const std::size_t before = out.bytes_used();
    out.varint(v);
    EXPECT_EQ(out.bytes_used() - before, varint_bytes(v));
    out.svarint(static_cast<std::int64_t>(v));
    out.raw("abc", 3);
  }
  ASSERT_FALSE(out.overflowed());
  ByteReader in(out.written());
  for (const std::uint64_t v : kEdges) {
    EXPECT_EQ(in.u8(), static_cast<std::uint8_t>(v));
    EXPECT_EQ(in.u32le(), static_cast<std::uint32_t>(v));
    EXPECT_EQ(in.u64le(), v);
    EXPECT_EQ(in.varint(), v);
    EXPECT_EQ(in.svarint(), static_cast<std::int64_t>(v));
    std::array<char, 3> text{};
    EXPECT_TRUE(in.raw(text.data(), text.size()));
    EXPECT_EQ(text[2], 'c');
  }
  EXPECT_EQ(in.bytes_left(), 0U);
  EXPECT_FALSE(in.failed());
}

TEST(Bytes, integers_are_little_endian) {
  std::array<std::byte, 4> buffer{};
  ByteWriter out(buffer);
  out.u32le(0x01020304);
  EXPECT_EQ(buffer[0], std::byte{4});
  EXPECT_EQ(buffer[3], std::byte{1});
}

TEST(Bytes, zigzag_keeps_small_numbers_small) {
  EXPECT_EQ(zigzag(0), 0U);
  EXPECT_EQ(zigzag(-1), 1U);
  EXPECT_EQ(zigzag(1), 2U);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), ~0ULL);
  for (const std::uint64_t v : kEdges) {
    EXPECT_EQ(zigzag(unzigzag(v)), v);
  }
}

TEST(Bytes, what_does_not_fit_is_not_written_in_part) {
  for (std::size_t room = 0; room < 8; ++room) {
    std::vector<std::byte> buffer(room, std::byte{0xee});
    ByteWriter out(buffer);
    out.u64le(0);
    EXPECT_TRUE(out.overflowed());
    out.u8(1);  // would fit, but comes after an overflow
    out.varint(1);
    out.raw("x", 1);
    EXPECT_EQ(out.bytes_used(), 0U);
    for (const std::byte b : buffer) EXPECT_EQ(b, std::byte{0xee});
  }
}

TEST(Bytes, varint_fits_exactly_or_not_at_all) {
  for (const std::uint64_t v : kEdges) {
    std::vector<std::byte> exact(varint_bytes(v));
    ByteWriter fits(exact);
    fits.varint(v);
    EXPECT_FALSE(fits.overflowed());
    ByteWriter short_by_one{std::span(exact).first(exact.size() - 1)};
    short_by_one.varint(v);
    EXPECT_TRUE(short_by_one.overflowed());
    EXPECT_EQ(short_by_one.bytes_used(), 0U);
  }
}

TEST(Bytes, rewind_takes_back_an_overflow) {
  std::array<std::byte, 2> buffer{};
  ByteWriter out(buffer);
  out.u8(1);
  const ByteWriter::Mark mark = out.mark();
  out.u32le(5);
  ASSERT_TRUE(out.overflowed());
  out.rewind(mark);
  out.u8(2);
  EXPECT_FALSE(out.overflowed());
  EXPECT_EQ(out.bytes_used(), 2U);
}

TEST(Bytes, reader_fails_for_good_at_the_end) {
  const std::array<std::byte, 3> buffer{std::byte{1}, std::byte{2}, std::byte{3}};
  ByteReader in(buffer);
  EXPECT_EQ(in.u32le(), 0U);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.u8(), 0U);
  EXPECT_EQ(in.varint(), 0U);
  EXPECT_TRUE(in.take(1).empty());
  EXPECT_EQ(in.bytes_used(), 0U);
}

TEST(Bytes, over_long_varints_are_damage) {
  const std::vector<std::vector<unsigned>> damaged = {
      {0x80},                                                              // cut
      {0x80, 0x00},                                                        // zero in two bytes
      {0xff, 0x80, 0x00},                                                  // 127 in three
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02},        // bit 64
      {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},  // eleven bytes
  };
  for (const auto& bytes : damaged) {
    std::vector<std::byte> buffer;
    for (const unsigned b : bytes) buffer.push_back(static_cast<std::byte>(b));
    ByteReader in(buffer);
    EXPECT_EQ(in.varint(), 0U);
    EXPECT_TRUE(in.failed());
  }
}

TEST(Crc32c, agrees_with_the_published_check_value) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283U);  // RFC 3720's polynomial
  const std::array<char, 32> zeros{};
  EXPECT_EQ(crc32c(zeros.data(), zeros.size()), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(nullptr, 0), 0U);
}

TEST(Crc32c, pieces_make_the_whole) {
  EXPECT_EQ(crc32c("6789", 4, crc32c("12345", 5)), crc32c("123456789", 9));
  EXPECT_NE(crc32c("123456788", 9), crc32c("123456789", 9));
}

}  // namespace
}  // namespace iotune::patterns
