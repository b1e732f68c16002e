// Logs of parts, joined, are the log of the whole.
#include "analyzer/pattern_log/merge_logs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyzer/pattern_log/pattern_log.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawn_nest.h"
#include "tests/generators/workload_log.h"

namespace iotune::analyzer {
namespace {

using generators::Stream;
using generators::Workload;

class MergeLogs : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("merge-logs-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file(name);
  }

  static std::vector<std::byte> read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }

  // The log of streams [first, end), in sections of about so many leaves.
  static std::vector<std::byte> part_log(const Workload& of, std::size_t first, std::size_t end,
                                         std::size_t leaves) {
    PatternLogWriter log({.leaves_held = leaves});
    for (std::size_t s = first; s < end; ++s) {
      const auto stream = log.add_stream(of.streams[s].rank, "file-" + std::to_string(s % 3));
      log.add(stream, of.streams[s].accesses);
      if (s % 2 == 0) log.end_stream(stream);
    }
    return log.finish();
  }

  // Joins the workload's streams, cut into parts, and compares what comes back.
  MergedLog expect_whole(const Workload& of, std::size_t parts, std::size_t leaves) const {
    std::vector<std::string> paths;
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t first = of.streams.size() * p / parts;
      const std::size_t end = of.streams.size() * (p + 1) / parts;
      paths.push_back(write("part-" + std::to_string(p), part_log(of, first, end, leaves)));
    }
    const auto merged = merge_logs(paths, file("whole"));
    EXPECT_TRUE(merged) << of.name;
    if (!merged) return {};
    const std::vector<std::byte> bytes = read(file("whole"));
    EXPECT_EQ(merged->bytes, bytes.size());
    EXPECT_EQ(merged->streams, of.streams.size());
    const auto log = PatternLogReader::open(bytes);
    EXPECT_TRUE(log && log->streams().size() == of.streams.size()) << of.name;
    if (!log || log->streams().size() != of.streams.size()) return {};
    for (std::uint32_t s = 0; s < of.streams.size(); ++s) {
      EXPECT_EQ(log->streams()[s].rank, of.streams[s].rank);
      EXPECT_EQ(log->streams()[s].name, "file-" + std::to_string(s % 3));
      std::vector<patterns::Extent> back(of.streams[s].accesses.size() + 1);
      auto accesses = log->accesses(s);
      EXPECT_EQ(accesses.read(back), of.streams[s].accesses.size());
      EXPECT_FALSE(accesses.failed());
      back.pop_back();
      EXPECT_TRUE(back == of.streams[s].accesses) << of.name << ", stream " << s;
    }
    return *merged;
  }

  std::filesystem::path folder_;
};

TEST_F(MergeLogs, gives_back_every_generator) {
  for (const generators::Row& row : generators::catalogue(generators::Size::small)) {
    const Workload workload = row.make();
    expect_whole(workload, 3, 1U << 18U);
  }
}

TEST_F(MergeLogs, joins_parts_of_many_sections) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Workload drawn = generators::expand(generators::draw_nest(seed), seed);
    for (const std::size_t leaves : {30U, 400U}) expect_whole(drawn, 1 + seed % 5, leaves);
  }
}

TEST_F(MergeLogs, makes_alike_ranks_of_all_parts_one_table) {
  Workload ranks;
  ranks.name = "rows";
  for (std::uint32_t rank = 0; rank < 600; ++rank) {
    Stream& stream = ranks.streams.emplace_back();
    stream.rank = rank;
    for (std::int64_t k = 0; k < 50; ++k) {
      stream.accesses.push_back({k * 600 * 4096 + rank * 4096, 4096});
    }
  }
  const std::size_t alone = part_log(ranks, 0, 600, 1U << 18U).size();
  EXPECT_LE(expect_whole(ranks, 7, 1U << 18U).bytes, alone + 8);
}

TEST_F(MergeLogs, says_which_part_is_damaged) {
  Workload one;
  one.streams.resize(1);
  one.streams[0].accesses = {{0, 1}, {5, 1}, {7, 9}};
  const std::vector<std::byte> good = part_log(one, 0, 1, 100);
  const std::string first = write("good", good);
  std::vector<std::byte> wrong = good;
  wrong[0] = std::byte{0x17};
  for (const auto& bytes : {wrong, std::vector<std::byte>{std::byte{0xb5}, std::byte{0x70}}}) {
    const std::string second = write("bad", bytes);
    const auto merged = merge_logs({first, second}, file("whole"));
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().path, second);
  }
  EXPECT_FALSE(merge_logs({file("missing")}, file("whole")));
  EXPECT_FALSE(merge_logs({first}, file("no folder/whole")));
}

}  // namespace
}  // namespace iotune::analyzer
