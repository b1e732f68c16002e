// The generators make what the papers' applications are known to make.
#include "tests/generators/applications.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/generators/catalogue.h"

namespace iotune::generators {
namespace {

using patterns::Extent;

struct Coverage {
  bool overlaps = false;
  std::int64_t gap_bytes = 0;  // between the first byte and the last that are touched
  std::int64_t bytes = 0;
};

Coverage coverage(const Workload& of) {
  std::vector<Extent> all;
  for (const Stream& stream : of.streams) {
    all.insert(all.end(), stream.accesses.begin(), stream.accesses.end());
  }
  std::sort(all.begin(), all.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  Coverage found;
  std::int64_t end = all.front().offset;
  for (const Extent& access : all) {
    found.overlaps = found.overlaps || access.offset < end;
    found.gap_bytes += std::max<std::int64_t>(access.offset - end, 0);
    found.bytes += access.length;
    end = std::max(end, access.offset + access.length);
  }
  return found;
}

void expect_whole_file(const Workload& of) {
  const Coverage found = coverage(of);
  EXPECT_FALSE(found.overlaps) << of.name;
  EXPECT_EQ(found.gap_bytes, 0) << of.name;
}

TEST(Applications, fs_test) {
  const Workload made = fs_test({.ranks = 8, .writes = 100});
  EXPECT_EQ(made.accesses(), 800U);
  EXPECT_EQ(made.streams[5].rank, 5U);
  EXPECT_EQ(made.streams[5].accesses[0], (Extent{5 * 4096, 4096}));
  EXPECT_EQ(made.streams[5].accesses[1], (Extent{13 * 4096, 4096}));
  expect_whole_file(made);
}

TEST(Applications, pattern_io_with_odd_blocks) {
  const Workload made = pattern_io({.ranks = 4, .writes = 3, .odd_bytes = 31744});
  EXPECT_EQ(made.streams[2].accesses[0], (Extent{2 * 97280, 97280}));
  expect_whole_file(made);
}

TEST(Applications, milc_a_writes_half_rows) {
  const Workload made = milc_a();
  EXPECT_EQ(made.accesses(), 8192U);
  EXPECT_EQ(made.streams[0].accesses[0], (Extent{96, 288 * 8}));
  EXPECT_EQ(made.streams[1].accesses[0].offset, 96 + 288 * 8);
  EXPECT_EQ(made.streams[2].accesses[0].offset, 96 + 288 * 16 * 8);
  EXPECT_EQ(made.streams[15].accesses[1].offset - made.streams[15].accesses[0].offset, 288 * 16);
  EXPECT_EQ(coverage(made).bytes, 288 * 65536);
  expect_whole_file(made);
}

TEST(Applications, milc_b_and_c_differ_by_the_header) {
  const Milc pieces{.portion_writes = 16};
  const Workload b = milc_b(pieces);
  const Workload c = milc_c(pieces);
  EXPECT_EQ(b.accesses(), 256U);
  EXPECT_EQ(coverage(b).bytes, 288 * 65536);
  expect_whole_file(b);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(c.streams[rank].accesses[0], (Extent{0, 96}));
    EXPECT_TRUE(std::equal(b.streams[rank].accesses.begin(), b.streams[rank].accesses.end(),
                           c.streams[rank].accesses.begin() + 1));
  }
}

TEST(Applications, record_variables_have_slabs_of_seven_sizes) {
  const Workload made = record_variables({.ranks = 3, .records = 4});
  EXPECT_EQ(made.accesses(), 3U * 4 * 12);
  std::set<std::int64_t> lengths;
  for (const Extent& access : made.streams[0].accesses) lengths.insert(access.length);
  EXPECT_EQ(lengths.size(), 7U);
  expect_whole_file(made);
}

TEST(Applications, pagoda_makes_a_quarter_of_a_gigabyte) {
  const Workload made = pagoda();
  EXPECT_EQ(made.accesses(), 16U * 19 * 9);
  EXPECT_NEAR(static_cast<double>(coverage(made).bytes), 250e6, 10e6);
  expect_whole_file(made);
}

TEST(Applications, app1_is_strided_in_two_dimensions) {
  const Workload made = lanl_app1({.ranks_y = 2, .ranks_x = 3, .rows = 4, .pieces = 5});
  EXPECT_EQ(made.accesses(), 6U * 20);
  EXPECT_EQ(made.streams[4].rank, 4U);
  EXPECT_EQ(made.streams[4].accesses[0].offset, 4 * (15 * 4096) + 5 * 4096);
  expect_whole_file(made);
}

TEST(Applications, app2_has_three_readings) {
  const App2 of{.ranks = 16, .writes = 50};
  const Workload library = lanl_app2_library(of);
  EXPECT_EQ(library.accesses(), 16U * 150);
  EXPECT_EQ(library.streams[3].accesses[1].offset, (16 + 3) * 4096);
  EXPECT_EQ(library.streams[3].accesses[50], (Extent{50 * 16 * 4096 + 3 * 8192, 8192}));
  expect_whole_file(library);

  const Workload independent = lanl_app2_independent(of);
  EXPECT_EQ(independent.accesses(), 16U * 150);
  EXPECT_EQ(independent.streams[3].accesses[1].offset, 151 * 4608);
  EXPECT_FALSE(coverage(independent).overlaps);
  EXPECT_GT(coverage(independent).gap_bytes, 0);

  const Workload collective = lanl_app2_collective(of);
  EXPECT_EQ(collective.streams.size(), 2U);
  EXPECT_EQ(collective.streams[1].rank, 8U);
  EXPECT_EQ(coverage(collective).bytes, 5 * (3 * 640 + 16 * 64 * (4096 + 8192 + 12288)));
  expect_whole_file(collective);
}

TEST(Applications, app3_fills_four_gigabytes_in_the_table) {
  const App3 table;
  EXPECT_EQ(table.writes * table.ranks * 1024, std::int64_t{4} << 30);
  const Workload made = lanl_app3({.writes = 100});
  EXPECT_EQ(made.streams[9].accesses[2], (Extent{2 * 65536 + 9 * 1024, 1024}));
  expect_whole_file(made);
}

TEST(Applications, app3_tiles_visit_the_same_places) {
  const Workload made = lanl_app3_tiles({.tiles = 3});
  EXPECT_EQ(made.accesses(), 64U * 9 * 64);
  EXPECT_EQ(made.streams[0].accesses[8].offset, 24 * 65536);  // the tile's second row
  EXPECT_EQ(made.streams[0].accesses[64].offset, 8 * 65536);  // the second tile
  expect_whole_file(made);
}

TEST(Applications, app3_over_a_grid_of_ranks_is_the_same_file) {
  const Workload made = lanl_app3_grid({.ranks_y = 2, .ranks_x = 3, .rows = 4, .columns = 5});
  EXPECT_EQ(made.accesses(), 6U * 20);
  EXPECT_EQ(made.streams[4].accesses[0].offset, (4 * 15 + 5) * 1024);  // py = 1, px = 1
  EXPECT_EQ(made.streams[4].accesses[5].offset, (5 * 15 + 5) * 1024);  // the next row
  expect_whole_file(made);
}

TEST(Applications, btio_is_the_benchmarks_decomposition) {
  EXPECT_EQ(btio({.dumps = 1}).accesses(), 16384U);
  const Workload uneven = btio({.ranks = 16, .extent = 102, .dumps = 2});
  EXPECT_EQ(uneven.accesses(), 2U * 4 * 102 * 102);
  EXPECT_EQ(uneven.streams[0].accesses[0], (Extent{0, 26 * 40}));
  EXPECT_EQ(uneven.streams[2].accesses[0], (Extent{40 * 52, 25 * 40}));  // x = 2
  EXPECT_EQ(coverage(uneven).bytes, std::int64_t{2} * 102 * 102 * 102 * 40);
  expect_whole_file(uneven);
  EXPECT_THROW(btio({.ranks = 12}), std::invalid_argument);
}

TEST(Applications, flash_is_cut_at_the_files_boundaries) {
  const Workload made = flash();
  EXPECT_EQ(made.accesses(), 5376U);
  for (const Extent& access : made.streams[7].accesses) {
    EXPECT_EQ(access.offset / (128 << 10), (access.offset + access.length - 1) / (128 << 10));
  }
  EXPECT_FALSE(coverage(made).overlaps);
  EXPECT_EQ(coverage(made).bytes, std::int64_t{64} * 24 * 80 * 4096);
  EXPECT_EQ(flash({.split_bytes = 0}).accesses(), 64U * 24);
}

TEST(Applications, the_catalogue_names_each_once_and_says_why) {
  std::set<std::string> names;
  for (const Row& row : catalogue(Size::small)) {
    const Workload made = row.make();
    EXPECT_EQ(made.name, row.name);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(made.basis.empty()) << row.name;
    EXPECT_GT(made.accesses(), 15U) << row.name;
    EXPECT_LT(made.accesses(), 50000U) << row.name;
    for (const Stream& stream : made.streams) {
      for (const Extent& access : stream.accesses) {
        ASSERT_GE(access.offset, 0) << row.name;
        ASSERT_GT(access.length, 0) << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace iotune::generators
