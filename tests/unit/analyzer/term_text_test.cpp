#include "analyzer/streams/term_text.h"

#include <gtest/gtest.h>

namespace iotune::analyzer {
namespace {

using patterns::Extent;

std::string text_of(const std::vector<Extent>& accesses) {
  std::string all;
  std::uint64_t covered = 0;
  for (const NestTerm& term : find_nests(accesses, 3).terms) {
    all += (all.empty() ? "" : " | ") + term.text;
    covered += term.accesses;
  }
  EXPECT_EQ(covered, accesses.size());
  return all;
}

TEST(TermText, a_strided_row) {
  std::vector<Extent> accesses;
  for (std::int64_t k = 0; k < 30; ++k) accesses.push_back({100 + 16 * k, 8});
  EXPECT_EQ(text_of(accesses), "30×{(100,8); +16}");
}

TEST(TermText, rows_in_planes_backwards) {
  std::vector<Extent> accesses;
  for (std::int64_t z = 0; z < 4; ++z) {
    for (std::int64_t y = 0; y < 5; ++y) {
      for (std::int64_t x = 0; x < 6; ++x) accesses.push_back({90000 - 9000 * z + 100 * y + x, 1});
    }
  }
  EXPECT_EQ(text_of(accesses), "4×{5×{6×{(90000,1); +1}; +100}; -9000}");
}

TEST(TermText, a_header_rewritten_between_data_and_growing_lengths) {
  std::vector<Extent> accesses;
  for (std::int64_t k = 0; k < 9; ++k) {
    accesses.push_back({0, 8});
    accesses.push_back({96 + 32 * k, 16 + k});
  }
  EXPECT_EQ(text_of(accesses), "9×{(0,8; +0) (96,16; +(32,1))}");
}

// A body that comes again elsewhere is in none of the loops that it was in.
TEST(TermText, a_loop_has_the_strides_of_its_own_place) {
  std::vector<Extent> accesses;
  const auto row = [&](std::int64_t start) {
    for (std::int64_t k = 0; k < 4; ++k) accesses.push_back({start + 10 * k, 8});
  };
  for (std::int64_t i = 0; i < 5; ++i) {
    row(1000 * i);
    row(500000 - 7 * i);
  }
  row(900000);
  EXPECT_EQ(text_of(accesses),
            "5×{4×{(0,8; +1000); +10} 4×{(500000,8; -7); +10}} | 4×{(900000,8); +10}");
}

TEST(TermText, what_belongs_to_no_loop_is_cut) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({{5, 1}}), "(5,1)");
  EXPECT_EQ(text_of({{5, 1}, {77, 3}, {20, 9}, {1000, 2}, {3, 40}}),
            "(5,1) (77,3) (20,9) … 2 more");
}

}  // namespace
}  // namespace iotune::analyzer
