#include "patterndb/store/byte_key.h"

#include <random>

#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

using analyzer::Distribution;

std::string canonical(const std::string& text) {
  const auto descriptor = parse_descriptor(text);
  return descriptor ? descriptor->text() : descriptor.error().text();
}

TEST(Descriptor, RandomOnesComeBack) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 2000; ++round) {
    analyzer::Descriptor descriptor;
    std::size_t n = 1 + random() % 5;
    for (std::size_t d = 0; d < n; ++d) {
      auto distribution = static_cast<Distribution>(random() % 5);
      std::uint64_t k = distribution == Distribution::kCyclicK ? 2 + random() % 100 : 1;
      descriptor.dimensions.push_back({distribution, 1 + random() / 2, k});
    }
    std::string text = descriptor.text();
    EXPECT_EQ(canonical(text), text);
    std::string bytes = in_bytes(descriptor, 1 + random() % 16).text();
    EXPECT_EQ(canonical(bytes), bytes);
  }
}

TEST(ByteKey, IorEqualsVpic) {
  EXPECT_EQ(byte_key(ior()), byte_key(vpic()));
  EXPECT_EQ(byte_key(vpic()),
            "<1D,(BLOCK),(33554432 B)> write independent ranks=4 grid=4 chunk=none filters=0");
}

TEST(ByteKey, WhatMattersIsInIt) {
  const std::string base = byte_key(vpic());
  auto differs = [&](auto change) {
    Pattern pattern = vpic();
    change(pattern);
    EXPECT_NE(byte_key(pattern), base);
  };
  differs([](Pattern& p) { p.write = false; });
  differs([](Pattern& p) { p.mode = "collective"; });
  differs([](Pattern& p) { p.ranks = 8; });
  differs([](Pattern& p) { p.chunk = {1024}; });
  differs([](Pattern& p) { p.filters = 1; });
  differs([](Pattern& p) { p.element_bytes = 8; });
}

TEST(ByteKey, CyclicBlocksCountInBytesToo) {
  Pattern floats = vpic(), doubles = ior();
  floats.descriptor.dimensions[0] = {Distribution::kCyclicK, 80, 2};
  doubles.descriptor.dimensions[0] = {Distribution::kCyclic, 40, 1};
  EXPECT_EQ(byte_key(floats), byte_key(doubles));
  doubles.descriptor.dimensions[0] = {Distribution::kCyclicK, 40, 2};
  EXPECT_NE(byte_key(floats), byte_key(doubles));
}

TEST(ByteKey, OnlyTheLastDimensionIsInBytes) {
  Pattern pattern = vpic();
  pattern.descriptor = *parse_descriptor("<3D,(BLOCK,BLOCK,BLOCK),(60,100,300)>");
  EXPECT_EQ(byte_key(pattern).substr(0, 43), "<3D,(BLOCK,BLOCK,BLOCK),(60,100,1200 B)> wr");
}

TEST(ByteKey, OverflowIsAFault) {
  Pattern pattern = one_dimensional(1ull << 62, 8);
  EXPECT_THROW(byte_key(pattern), Fault);
}

TEST(Numbers, ComeBack) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(split_numbers(joined({2, 3, 5})), (std::vector<std::uint64_t>{2, 3, 5}));
  for (const char* text : {"2x", "x2", "2y3", "2x-1", "99999999999999999999"}) {
    EXPECT_THROW(split_numbers(text), Fault) << text;
  }
}

}  // namespace
}  // namespace iotune::patterndb::testing
