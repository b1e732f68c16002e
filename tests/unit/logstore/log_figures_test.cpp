// How large an index is: FS-TEST's shared file of the papers, with the times that a real run has.
// Prints what it measures.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analyzer/index/index_file.h"
#include "fake_files.h"
#include "logstore/compact/compaction.h"
#include "logstore/read/make_container.h"
#include "logstore/read/log_map.h"

namespace iotune::logstore {
namespace {

using testing::FakeClock;
using testing::FakeFile;
using testing::kId;

constexpr std::uint32_t kRanks = 512;
constexpr std::int64_t kBlock = 4096;

// A log of which only the length is kept.
const LogFile kNowhere = {nullptr,
                          [](void*, const void*, std::size_t size, std::int64_t) noexcept {
                            return static_cast<std::int64_t>(size);
                          },
                          [](void*) noexcept { return 0; }};

struct Writers {
  std::vector<std::string> names;
  std::vector<std::vector<std::byte>> indexes;
  std::int64_t log_bytes = 0;

  std::size_t bytes_on_disk() const {
    return std::accumulate(indexes.begin(), indexes.end(), std::size_t{0},
                           [](std::size_t sum, const auto& one) { return sum + one.size(); });
  }
  LogMap merge() const {
    std::vector<WriterBytes> bytes;
    for (std::size_t i = 0; i < names.size(); ++i)
      bytes.push_back({names[i], indexes[i], log_bytes});
    std::vector<WriterReport> reports;
    auto map = LogMap::merge(kId, std::move(bytes), reports);
    EXPECT_TRUE(map) << map.error().text();
    for (const WriterReport& report : reports) EXPECT_TRUE(report.is_whole()) << report.name;
    return std::move(*map);
  }
};

struct Timing {
  std::int64_t write_ns, gap_ns;  // each give or take a tenth
};
constexpr Timing kBusy = {10000, 200};       // writes follow each other
constexpr Timing kPausing = {10000, 50000};  // the program computes in between

// Rank r writes its k-th block to (k * ranks + r).
Writers strided_run(std::int64_t writes, std::int64_t sync_every, Timing timing) {
  std::mt19937_64 draw(2013);
  // Names in no order of ranks: 16 processes a node, process numbers and nodes as they come.
  std::vector<std::uint32_t> nodes(kRanks / 16);
  for (std::uint32_t& node : nodes) node = 1000 + static_cast<std::uint32_t>(draw() % 9000);
  std::ranges::shuffle(nodes, draw);
  Writers run;
  run.log_bytes = writes * kBlock;
  const std::vector<std::byte> bytes(kBlock);
  std::vector<std::uint64_t> arena(LogWriter::arena_bytes() / 8 + 1);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    char name[64];
    std::snprintf(name, sizeof name, "nid%05u.%u.0", nodes[rank / 16],
                  1000 + static_cast<unsigned>(draw() % 60000));
    FakeClock clock;
    clock.now += static_cast<std::int64_t>(draw() % 100'000'000);
    bool inside = false;  // begin() looks once
    clock.step = [&] {
      inside = !inside;
      const std::int64_t ns = inside ? timing.write_ns : timing.gap_ns;
      return ns - ns / 10 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(ns / 5));
    };
    FakeFile index;
    LogWriter writer(kNowhere, index.file(), clock.clock(),
                     std::as_writable_bytes(std::span(arena)));
    EXPECT_EQ(writer.begin(kId), 0);
    for (std::int64_t k = 0; k < writes; ++k) {
      EXPECT_EQ(writer.append((k * kRanks + rank) * kBlock, bytes.data(), bytes.size()), kBlock);
      if (sync_every != 0 && (k + 1) % sync_every == 0) {
        EXPECT_EQ(writer.sync(), 0);
      }
    }
    EXPECT_EQ(writer.close(), 0);
    run.names.emplace_back(name);
    run.indexes.push_back(std::move(index.bytes));
  }
  return run;
}

void print(const char* what, std::int64_t writes, const Writers& run, const LogMap& map) {
  std::printf(
      "%s: %u writers x %lld writes of %lld bytes\n"
      "  indexes on disk               %9zu bytes, times included\n"
      "  merged, in memory             %9zu bytes, names included\n"
      "  merged, as a file             %9zu bytes\n"
      "  nests and single writes       %9zu\n",
      what, kRanks, static_cast<long long>(writes), static_cast<long long>(kBlock),
      run.bytes_on_disk(), map.memory_bytes(), analyzer::write_index(map.index()).size(),
      map.index().nests() + map.index().segments());
}

TEST(LogFigures, strided_writes_of_512_writers_need_at_most_8_kilobytes) {
  constexpr std::int64_t kWrites = 16384;
  const Writers run = strided_run(kWrites, 0, kBusy);
  const LogMap map = run.merge();
  print("strided", kWrites, run, map);
  EXPECT_LE(map.memory_bytes(), 8192U);
  EXPECT_EQ(map.size(), kRanks * kWrites * kBlock);
  std::mt19937_64 draw(1);
  for (int i = 0; i < 1000; ++i) {
    const auto block = static_cast<std::int64_t>(draw() % (kRanks * kWrites));
    const auto pieces = map.pieces(block * kBlock + 7, 1);
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(map.writer_name(pieces[0].writer),
              run.names[static_cast<std::size_t>(block % kRanks)]);
    EXPECT_EQ(pieces[0].physical, block / kRanks * kBlock + 7);
  }
}

TEST(LogFigures, pauses_between_writes_cost_disk_and_no_memory) {
  constexpr std::int64_t kWrites = 2048;
  const Writers run = strided_run(kWrites, 0, kPausing);
  const LogMap map = run.merge();
  print("strided, with pauses", kWrites, run, map);
  EXPECT_LE(map.memory_bytes(), 8192U);
  EXPECT_LE(run.bytes_on_disk(), 4U * kRanks * kWrites);  // PLFS: 48 bytes a write
}

// The same on disk, its logs without blocks, compacted as at close.
TEST(LogFigures, after_compaction_the_index_on_disk_needs_at_most_64_kilobytes) {
  namespace fs = std::filesystem;
  constexpr std::int64_t kWrites = 16384;
  const Writers run = strided_run(kWrites, 0, kBusy);
  std::string made = (fs::temp_directory_path() / "figures.XXXXXX").string();
  const fs::path root = mkdtemp(made.data());
  const fs::path path = root / "file";
  ASSERT_FALSE(make_container(path, {kId, 1000}));
  for (std::size_t i = 0; i < run.names.size(); ++i) {
    std::ofstream index(path / (run.names[i] + ".index"), std::ios::binary);
    index.write(reinterpret_cast<const char*>(run.indexes[i].data()),
                static_cast<std::streamsize>(run.indexes[i].size()));
    std::ofstream(path / (run.names[i] + ".log")).close();
    fs::resize_file(path / (run.names[i] + ".log"), static_cast<std::uintmax_t>(run.log_bytes));
  }
  EXPECT_EQ(compact_on_close(path), 0);
  std::size_t index_bytes = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".index") index_bytes += entry.file_size();
  }
  const auto container = Container::open(path);
  ASSERT_TRUE(container) << container.error().text();
  std::printf(
      "strided, compacted at close\n"
      "  index on disk                 %9zu bytes, all of it in two copies\n"
      "  merged, in memory             %9zu bytes, names included\n",
      index_bytes, container->map().memory_bytes());
  EXPECT_LE(index_bytes, 65536U);
  EXPECT_LE(container->map().memory_bytes(), 8192U);
  EXPECT_EQ(container->map().size(), kRanks * kWrites * kBlock);
  EXPECT_EQ(container->reports().size(), kRanks);
  const auto pieces = container->map().pieces(777 * kBlock + 7, 1);
  EXPECT_EQ(container->map().writer_name(pieces.at(0).writer), run.names[777 % kRanks]);
  EXPECT_EQ(pieces.at(0).physical, 777 / kRanks * kBlock + 7);
  fs::remove_all(root);
}

TEST(LogFigures, a_sync_now_and_then_changes_nothing_about_it) {
  constexpr std::int64_t kWrites = 2048;
  const Writers run = strided_run(kWrites, 256, kBusy);
  const LogMap map = run.merge();
  print("strided, a sync every 256 writes", kWrites, run, map);
  EXPECT_LE(map.memory_bytes(), 8192U);
}

}  // namespace
}  // namespace iotune::logstore
