// The map of a container has every write, in the order in which its writer made it.
#include "logstore/read/map_walk.h"

#include <gtest/gtest.h>

#include <random>

#include "job_files.h"
#include "logstore/compact/compaction.h"

namespace iotune::logstore {
namespace {

using testing::FakeWriter;
using testing::JobFiles;

std::vector<MapRow> rows_of(const Container& container, std::size_t at_a_time = 7) {
  MapWalk walk(container);
  std::vector<MapRow> rows;
  for (std::size_t before = SIZE_MAX; before != rows.size();) {
    before = rows.size();
    const auto wrong = walk.next(at_a_time, rows);
    EXPECT_FALSE(wrong) << wrong->text();
  }
  return rows;
}

TEST(MapWalk, has_every_write_in_its_order) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    JobFiles job;
    std::mt19937_64 draw(seed);
    std::vector<std::pair<std::int64_t, std::int64_t>> made;
    const auto writer = job.open();
    for (std::size_t i = 0; i < 40; ++i) {
      if (draw() % 5 == 0) job.truncate(*writer, draw() % 500);
      const std::size_t start = draw() % 500;
      const std::size_t stride = draw() % 3 == 0 ? 0 : draw() % 50;
      for (std::size_t outer = draw() % 3 + 1; outer-- > 0;) {
        for (std::size_t k = 0; k < draw() % 9; ++k) {
          const std::size_t offset = start + outer * 400 + k * stride;
          const std::size_t length = 1 + (draw() % 4 == 0 ? k : 3);
          job.write(*writer, offset, std::string(length, 'x'));
          made.emplace_back(offset, length);
        }
      }
    }
    ASSERT_EQ(writer->writer.close(), 0);
    job.put(*writer);
    const auto container = Container::open(job.path());
    ASSERT_TRUE(container);
    const std::vector<MapRow> rows = rows_of(*container);
    ASSERT_EQ(rows.size(), made.size());
    std::int64_t physical = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(std::pair(rows[i].offset, rows[i].length), made[i]) << "seed " << seed;
      ASSERT_EQ(rows[i].physical, physical);
      physical += rows[i].length;
      ASSERT_TRUE(i == 0 || rows[i - 1].time_ns < rows[i].time_ns);
    }
  }
}

TEST(MapWalk, of_what_was_compacted_has_the_files_pieces) {
  JobFiles job;
  const auto first = job.open();
  const auto second = job.open();
  for (std::size_t k = 0; k < 6; ++k) {
    job.write(k % 2 == 0 ? *first : *second, k * 8, "12345678");
  }
  for (auto* one : {first.get(), second.get()}) {
    ASSERT_EQ(one->writer.flush(), 0);
    job.put(*one);
  }
  ASSERT_TRUE(compact(job.path()));
  const auto late = job.open();
  job.write(*late, 4, "LATE");
  ASSERT_EQ(late->writer.close(), 0);
  job.put(*late);
  const auto container = Container::open(job.path());
  ASSERT_TRUE(container);
  EXPECT_FALSE(MapWalk(*container).has_times());
  const std::vector<MapRow> rows = rows_of(*container);
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows[0].length, 4);
  EXPECT_EQ(rows[1].offset, 8);
  EXPECT_EQ(rows[1].writer, 1U);
  EXPECT_EQ(rows[6].offset, 4);
  EXPECT_EQ(rows[6].writer, 2U);
  EXPECT_GT(rows[6].time_ns, 0);
}

TEST(MapWalk, single_indexes_that_stay_beside_the_merged_one_keep_the_times) {
  JobFiles job;
  std::mt19937_64 draw(4);
  job.session(draw, 30);
  const auto before = rows_of(*Container::open(job.path()));
  CompactOptions options;
  options.keeps_indexes = true;
  ASSERT_TRUE(compact(job.path(), options));
  const auto container = Container::open(job.path());
  EXPECT_TRUE(MapWalk(*container).has_times());
  const auto after = rows_of(*container);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].offset, before[i].offset);
    EXPECT_EQ(after[i].time_ns, before[i].time_ns);
  }
}

TEST(MapWalk, is_printed_as_lines) {
  std::string text = map_head(true);
  append_map_line({3, 10, 20, 30, 1700000000000000000}, "node1.7.0", true, text);
  EXPECT_EQ(text,
            "writer,rank,offset,length,time_ns,physical\n"
            "node1.7.0,,10,20,1700000000000000000,30\n");
  text = map_head(false);
  append_map_line({3, 10, 20, 30, 0}, "a", false, text);
  EXPECT_EQ(text, "writer,rank,offset,length,physical\na,,10,20,30\n");
}

}  // namespace
}  // namespace iotune::logstore
