// A container that is compacted holds the same bytes: also when more is written later, by whatever
// clock, and compacted again.
#include "logstore/compact/compaction.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "job_files.h"
#include "logstore/read/merged_index.h"
#include "tests/unit/drawn_cases.h"

namespace iotune::logstore {
namespace {

namespace fs = std::filesystem;
using testing::FakeWriter;
using testing::JobFiles;

TEST(Compaction, one_index_replaces_all) {
  JobFiles job;
  std::vector<std::unique_ptr<FakeWriter>> writers;
  for (int i = 0; i < 4; ++i) writers.push_back(job.open());
  for (std::size_t k = 0; k < 40; ++k) {
    job.write(*writers[k % 4], k * 10, std::string(10, static_cast<char>('a' + k % 26)));
  }
  for (const auto& one : writers) {
    ASSERT_EQ(one->writer.close(), 0);
    job.put(*one);
  }
  const auto report = compact(job.path());
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->copied_bytes, 0);
  EXPECT_EQ(report->log_bytes, 400);
  EXPECT_EQ(job.names(), (std::set<std::string>{"README", "container", "handle", "merged.index",
                                                "node1.77.0.log", "node1.77.1.log",
                                                "node1.77.2.log", "node1.77.3.log"}));
  job.expect_whole("after");
  const auto container = Container::open(job.path());
  ASSERT_EQ(container->reports().size(), 4U);
  EXPECT_TRUE(container->reports()[3].is_covered);
  EXPECT_EQ(container->reports()[3].entries, 10);
  EXPECT_EQ(container->map().index().nests(), 1U);
  EXPECT_EQ(container->compaction().generation, 1U);
  const std::string before = job.get("merged.index");
  ASSERT_TRUE(compact(job.path()));
  EXPECT_EQ(job.get("merged.index"), before);  // nothing to do
}

// NAS BT-IO's cells: each writer has four on a diagonal of the cube.
TEST(Compaction, loops_that_lie_between_each_other_need_no_times) {
  JobFiles job;
  constexpr std::size_t kEdge = 24, kCell = 6, kCells = 4;
  std::vector<std::unique_ptr<FakeWriter>> writers;
  for (std::size_t who = 0; who < kCells * kCells; ++who) {
    writers.push_back(job.open());
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const std::size_t x = (who + cell) % kCells * kCell;
      const std::size_t y = (who / kCells + kCells - cell) % kCells * kCell;
      for (std::size_t z = cell * kCell; z < (cell + 1) * kCell; ++z) {
        for (std::size_t row = y; row < y + kCell; ++row) {
          job.write(*writers[who], (z * kEdge + row) * kEdge + x, std::string(kCell, 'a'));
        }
      }
    }
    ASSERT_EQ(writers[who]->writer.close(), 0);
    job.put(*writers[who]);
  }
  ASSERT_TRUE(Container::open(job.path())->map().index().contested());
  ASSERT_TRUE(compact(job.path()));
  job.expect_whole("after");
  const std::string bytes = job.get("merged.index");
  const auto read = read_merged_index(std::as_bytes(std::span(bytes)), testing::kId, {});
  ASSERT_TRUE(read && read->merged);
  EXPECT_TRUE(read->merged->parts.knots.empty());
  // A byte that is written twice needs them again.
  const auto late = job.open();
  job.write(*late, 100, "later");
  ASSERT_EQ(late->writer.close(), 0);
  job.put(*late);
  job.expect_whole("written again");
  ASSERT_TRUE(compact(job.path()));
  job.expect_whole("compacted again");
}

TEST(Compaction, sessions_and_compactions_in_any_order_keep_every_byte) {
  for (std::uint64_t seed = 0; seed < iotune::testing::drawn_cases(120); ++seed) {
    JobFiles job;
    std::mt19937_64 draw(seed);
    for (int round = 0; round < 5; ++round) {
      // What is written after a compaction is later, whatever its clock says.
      if (draw() % 3 == 0) job.clock().now -= 10'000'000'000'000;
      job.session(draw, 1 + draw() % 30);
      job.expect_whole("written");
      CompactOptions options;
      options.least_live = std::array{0.0, 0.5, 0.9, 2.0}[draw() % 4];
      options.keeps_indexes = draw() % 4 == 0;
      if (draw() % 8 == 0) options.most_copied_bytes = 100;
      const auto report = compact(job.path(), options);
      ASSERT_TRUE(report) << report.error().text();
      job.expect_whole("compacted");
      if (options.least_live == 2.0 && !options.keeps_indexes && options.most_copied_bytes > 100) {
        EXPECT_LE(job.bytes_of(".log"), job.content().size());
      }
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", round " << round;
    }
  }
}

TEST(Compaction, a_file_written_a_hundred_times_takes_twice_its_bytes) {
  JobFiles job;
  for (int pass = 0; pass < 100; ++pass) {
    std::vector<std::unique_ptr<FakeWriter>> writers;
    for (int i = 0; i < 3; ++i) writers.push_back(job.open());
    if (pass % 10 == 3) job.truncate(*writers[0], 0);
    for (std::size_t k = 0; k < 60; ++k) {
      job.write(*writers[k % 3], k * 16, std::string(16, static_cast<char>('0' + pass % 70)));
    }
    for (const auto& one : writers) {
      ASSERT_EQ(one->writer.close(), 0);
      job.put(*one);
    }
  }
  EXPECT_EQ(job.bytes_of(".log"), 96'000U);
  const auto report = compact(job.path());
  ASSERT_TRUE(report) << report.error().text();
  job.expect_whole("after");
  EXPECT_EQ(job.bytes_of(".log"), 960U);
  EXPECT_EQ(report->copied_bytes, 0);  // whole logs were hidden
  EXPECT_LE(job.bytes_of(".index"), 1500U);
}

TEST(Compaction, one_writer_that_goes_over_its_bytes_again_is_copied) {
  JobFiles job;
  const auto writer = job.open();
  std::mt19937_64 draw(1);
  for (int i = 0; i < 4000; ++i) job.write(*writer, draw() % 2000, std::string(20, 'x'));
  ASSERT_EQ(writer->writer.close(), 0);
  job.put(*writer);
  const auto report = compact(job.path());
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->removed_logs, 1);
  EXPECT_LE(job.bytes_of(".log"), 2020U);
  EXPECT_EQ(job.names().count("compacted.2.log"), 1U);
  job.expect_whole("after");
  EXPECT_LE(job.bytes_of(".index"), 1000U);
}

TEST(Compaction, is_refused_while_somebody_writes) {
  JobFiles job;
  std::mt19937_64 draw(1);
  job.session(draw, 20);
  const Descriptor held(open((job.path() / "container").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_SH), 0);
  const auto before = job.names();
  const auto report = compact(job.path());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("is in use"), std::string::npos) << report.error().text();
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(job.names(), before);
  ASSERT_EQ(flock(held.get(), LOCK_UN), 0);
  EXPECT_TRUE(compact(job.path()));
  EXPECT_EQ(compact_on_close(job.root() / "nothing"), -ENOENT);
}

TEST(Compaction, at_close_is_made_where_it_is_worth_it) {
  JobFiles job;
  for (int i = 0; i < 15; ++i) {
    const auto writer = job.open();
    job.write(*writer, 0, std::string(10, 'a'));
    ASSERT_EQ(writer->writer.close(), 0);
    job.put(*writer);
  }
  EXPECT_EQ(compact_on_close(job.path()), 0);
  EXPECT_FALSE(fs::exists(job.path() / "merged.index"));
  const auto writer = job.open();
  job.write(*writer, 5, "b");
  ASSERT_EQ(writer->writer.close(), 0);
  job.put(*writer);
  const auto gain = compaction_gain(*Container::open(job.path()));
  EXPECT_EQ(gain.single_indexes, 16);
  EXPECT_EQ(gain.log_bytes, 151);
  EXPECT_LE(gain.most_live_bytes, 11);
  EXPECT_EQ(compact_on_close(job.path()), 0);
  EXPECT_TRUE(fs::exists(job.path() / "merged.index"));
  job.expect_whole("closed");
  EXPECT_TRUE(compaction_is_worth_it({0, 0, 5 << 20, 2 << 20}));
  EXPECT_FALSE(compaction_is_worth_it({0, 0, 3 << 20, 2 << 20}));
  EXPECT_FALSE(compaction_is_worth_it({0, 0, 1 << 19, 0}));
  EXPECT_TRUE(compaction_is_worth_it({1, 1 << 16, 0, 0}));
}

TEST(Compaction, at_close_waits_for_the_storage_only_where_something_was_synced) {
  for (const bool synced : {false, true}) {
    JobFiles job;
    for (int i = 0; i < 16; ++i) {
      const auto writer = job.open();
      job.write(*writer, static_cast<std::size_t>(i), "abcdefgh");
      ASSERT_EQ(synced && i == 7 ? writer->writer.sync() : writer->writer.close(), 0);
      job.put(*writer);
    }
    ASSERT_EQ(compact_on_close(job.path()), 0);
    const auto container = Container::open(job.path());
    EXPECT_GT(container->compaction().generation, 0U);
    EXPECT_EQ(container->compaction().is_synced, synced);
    EXPECT_EQ(container->reports()[0].durable_bytes > 0, synced);
    EXPECT_EQ(job.get("merged.index")[20], synced ? 0 : 1);
    job.expect_whole("closed");
    // Who asks for it gets it on the storage.
    int syncs = 0;
    CompactOptions options;
    options.before_change = [&](const char* change) {
      syncs += std::string(change) == "sync" ? 1 : 0;
      return 0;
    };
    ASSERT_TRUE(compact(job.path(), options));
    EXPECT_EQ(syncs > 0, !synced);
    EXPECT_TRUE(Container::open(job.path())->compaction().is_synced);
    job.expect_whole("synced");
  }
}

TEST(Compaction, what_was_lost_is_not_compacted_away) {
  JobFiles job;
  const auto writer = job.open();
  job.write(*writer, 0, std::string(100, 'a'));
  ASSERT_EQ(writer->writer.sync(), 0);
  job.put(*writer);
  fs::resize_file(job.path() / "node1.77.0.log", 50);
  const auto report = compact(job.path());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("has lost bytes"), std::string::npos);
  EXPECT_EQ(compact_on_close(job.path()), 0);
  EXPECT_FALSE(fs::exists(job.path() / "merged.index"));
  job.put(*writer);
  ASSERT_TRUE(compact(job.path()));
  fs::resize_file(job.path() / "node1.77.0.log", 50);
  // Who trusts the merged index finds out when reading, who verifies looks.
  EXPECT_NE(job.found().find("is shorter than its index says"), std::string::npos) << job.found();
  const auto looked = Container::open(job.path(), {}, Container::Logs::kLookAtAll);
  EXPECT_EQ(looked->reports()[0].missing_bytes, 50);
  EXPECT_FALSE(compact(job.path()));
  fs::remove(job.path() / "node1.77.0.log");
  EXPECT_FALSE(Container::open(job.path())->reports()[0].is_whole());
}

TEST(Compaction, a_damaged_merged_index_falls_back_to_what_is_there) {
  for (const bool keeps : {true, false}) {
    JobFiles job;
    std::mt19937_64 draw(3);
    job.session(draw, 30);
    CompactOptions options;
    options.keeps_indexes = keeps;
    options.least_live = 0;
    ASSERT_TRUE(compact(job.path(), options));
    const std::string whole = job.get("merged.index");
    // One of its two copies holds.
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
      if (at % (whole.size() / 2) >= 16 && at % (whole.size() / 2) < 20) continue;  // a version
      job.put("merged.index", std::as_bytes(std::span(damaged)));
      ASSERT_EQ(job.found(), job.content()) << at;
    }
    std::string damaged = whole;
    damaged[100] = damaged[100 + whole.size() / 2] = static_cast<char>(damaged[100] ^ 1);
    job.put("merged.index", std::as_bytes(std::span(damaged)));
    const auto container = Container::open(job.path());
    ASSERT_TRUE(container);
    EXPECT_EQ(container->compaction().merged_damage, "is damaged");
    if (keeps) {
      job.expect_whole("by single indexes");
    } else {
      EXPECT_FALSE(container->reports()[0].is_whole());
    }
    EXPECT_FALSE(compact(job.path()));
    damaged = whole;
    damaged[16] = damaged[16 + whole.size() / 2] = 2;
    job.put("merged.index", std::as_bytes(std::span(damaged)));
    EXPECT_NE(job.found().find("merged.index: is of version 2"), std::string::npos) << job.found();
  }
}

TEST(Compaction, a_writer_that_goes_on_past_its_lock_is_read_and_not_compacted) {
  JobFiles job;
  const auto writer = job.open();
  job.write(*writer, 0, "one");
  ASSERT_EQ(writer->writer.sync(), 0);
  job.put(*writer);
  ASSERT_TRUE(compact(job.path()));
  job.write(*writer, 2, "two");
  ASSERT_EQ(writer->writer.sync(), 0);
  job.put(*writer);
  EXPECT_EQ(job.found(), "ontwo");
  const auto report = compact(job.path());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("past its lock"), std::string::npos);
}

TEST(Compaction, a_new_writer_may_be_called_as_a_retired_one) {
  JobFiles job;
  auto writer = job.open();
  for (int i = 0; i < 9; ++i) job.write(*writer, 0, "abc");
  ASSERT_EQ(writer->writer.close(), 0);
  job.put(*writer);
  ASSERT_TRUE(compact(job.path()));
  EXPECT_EQ(job.names().count("node1.77.0.log"), 0U);
  FakeWriter again("node1.77.0", job.clock());
  job.write(again, 1, "X");
  ASSERT_EQ(again.writer.close(), 0);
  job.put(again);
  EXPECT_EQ(job.found(), "aXc");
  ASSERT_TRUE(compact(job.path()));
  EXPECT_EQ(job.found(), "aXc");
}

TEST(Compaction, nobody_without_permission_compacts) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT VERIFIED: only root can become another user";
  JobFiles job;
  std::mt19937_64 draw(1);
  job.session(draw, 20);
  fs::permissions(job.root(), fs::perms::all);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    const auto report = compact(job.path());
    _exit(!report && report.error().text().find("Permission denied") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  job.expect_whole("after");
}

}  // namespace
}  // namespace iotune::logstore
