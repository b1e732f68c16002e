// Runs that are learnt from in steps, by processes that may die at any moment.
#include "patterndb/learn/pending_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "patterndb/store/pattern_db.h"
#include "patterndb/store/sqlite.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tests/unit/recorder_read/irregular_trace.h"

namespace iotune::patterndb::testing {
namespace {

namespace fs = std::filesystem;

class PendingRuns : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    fs::create_directory(at("learn"));
    const std::vector<std::byte> trace = recorder::made::irregular_trace();
    std::ofstream(at("run.iotrace"), std::ios::binary)
        .write(reinterpret_cast<const char*>(trace.data()),
               static_cast<std::streamsize>(trace.size()));
  }

  // As tuner/decision/run_end.cpp does.
  std::string keep_run(int number, const std::string& database, bool held = false) {
    std::string base = at("learn/") + std::to_string(1000 + number) + "-1-2-" +
                       database_mark(database) + (held ? kHeldMark : "");
    fs::create_symlink(at("run.iotrace"), base + kPathSuffix);
    fs::create_hard_link(at("run.iotrace"), base + kPendingSuffix);
    return base;
  }

  LearnRequest request(std::uint64_t until_ns = 0) {
    LearnRequest asked;
    asked.places = {at("learn"), at("patterns.db"), at("spool")};
    asked.until_ns = until_ns;
    return asked;
  }

  std::size_t pending_files() {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(at("learn"))) {
      count += entry.path().extension() != ".ns";
    }
    return count;
  }

  std::int64_t number(const char* sql) {
    sqlite::Connection connection(at("patterns.db"), at("patterns.db"), SQLITE_OPEN_READONLY);
    sqlite::Statement statement(connection, sql);
    return statement.step() ? statement.integer(0) : -1;
  }
};

constexpr std::uint64_t kNoTimeAtAll = 1;
constexpr int kFiles = 2;  // of the trace's three those that HDF5 and MPI-IO moved

TEST_F(PendingRuns, EachEndOfARunGoesOnWithWhatTheOneBeforeLeftOff) {
  keep_run(1, at("patterns.db"));
  int ends = 0;
  for (; ends < 1000; ++ends) {
    const LearnReport report = must(learn_from_pending_runs(request(kNoTimeAtAll)));
    if (report.learnt == 1) break;
    EXPECT_EQ(report.left, 1u);
    EXPECT_EQ(pending_files(), 3u);  // the trace, where the user finds it, how far it is read
  }
  EXPECT_GE(ends, 2);  // it did not fit into one
  EXPECT_LT(ends, 1000);
  EXPECT_EQ(pending_files(), 0u);
  // There was no time for the database either: it waits in the spool for somebody who has.
  EXPECT_FALSE(fs::is_empty(at("spool")));
  must(learn_from_pending_runs(request()));
  EXPECT_EQ(number("SELECT count(DISTINCT run) FROM observations"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM observations"), kFiles);
  sqlite::Connection connection(at("patterns.db"), at("patterns.db"), SQLITE_OPEN_READONLY);
  sqlite::Statement trace(connection, "SELECT trace FROM observations");
  ASSERT_TRUE(trace.step());
  EXPECT_EQ(trace.text(0), at("run.iotrace"));  // there is training to be done with it
}

std::uint64_t after_ns(std::uint64_t ns) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec) + ns;
}

TEST_F(PendingRuns, ADatabaseThatWasSlowOnceIsTriedAgain) {
  // given that to store once took 20 s, and ends of runs that have 2 s
  std::ofstream(at("learn/storing.ns")) << 20'000'000'000U;
  constexpr std::uint64_t kTwoSeconds = 2'000'000'000;
  keep_run(1, at("patterns.db"));
  must(learn_from_pending_runs(request(after_ns(kTwoSeconds))));
  EXPECT_FALSE(fs::exists(at("patterns.db")));
  // when runs end again and again
  int ends = 0;
  for (; ends < 200 && !fs::exists(at("patterns.db")); ++ends) {
    must(learn_from_pending_runs(request(after_ns(kTwoSeconds))));
  }
  // then what waits in the spool is stored in the end, and not at each of them
  EXPECT_GT(ends, 20);
  EXPECT_LT(ends, 200);
  EXPECT_EQ(number("SELECT count(*) FROM observations"), kFiles);
}

TEST_F(PendingRuns, ADeathAtAnyMomentLosesNothingAndCountsNothingTwice) {
  constexpr int kRuns = 6;
  for (int run = 0; run < kRuns; ++run) keep_run(run, at("patterns.db"));
  std::mt19937 draw(11);
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      static_cast<void>(learn_from_pending_runs(request(round % 2 == 0 ? 0 : kNoTimeAtAll)));
      _exit(0);
    }
    usleep(static_cast<useconds_t>(draw() % 20000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
  }
  EXPECT_GT(killed, 0);
  must(learn_from_pending_runs(request()));
  // A death between a trace's removal and that of what stood beside it leaves that for an hour.
  for (const auto& entry : fs::directory_iterator(at("learn"))) {
    EXPECT_NE(entry.path().extension(), kPendingSuffix);
    const timespec long_ago[2] = {{1, 0}, {1, 0}};
    utimensat(AT_FDCWD, entry.path().c_str(), long_ago, AT_SYMLINK_NOFOLLOW);
  }
  must(learn_from_pending_runs(request()));
  EXPECT_EQ(pending_files(), 0u);
  // The runs are one trace: each of its names counts once.
  EXPECT_EQ(number("SELECT count(DISTINCT spool_file) FROM observations"), kRuns);
  EXPECT_EQ(number("SELECT count(*) FROM observations"), kRuns * kFiles);
}

TEST_F(PendingRuns, RunsOfAnotherDatabaseWaitForIt) {
  keep_run(1, at("another.db"));
  EXPECT_EQ(must(learn_from_pending_runs(request())).learnt, 0u);
  EXPECT_EQ(pending_files(), 2u);
  LearnRequest other = request();
  other.places.database = at("another.db");
  EXPECT_EQ(must(learn_from_pending_runs(other)).learnt, 1u);
}

TEST_F(PendingRuns, AnotherProcessAtWorkIsNotWaitedFor) {
  keep_run(1, at("patterns.db"));
  const int folder = open(at("learn").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(folder, LOCK_EX), 0);
  EXPECT_EQ(must(learn_from_pending_runs(request())).learnt, 0u);
  close(folder);
  EXPECT_EQ(must(learn_from_pending_runs(request())).learnt, 1u);
}

TEST_F(PendingRuns, WhatIsNoTraceGoes) {
  const std::string base = keep_run(1, at("patterns.db"));
  fs::remove(base + kPendingSuffix);
  std::ofstream(base + kPendingSuffix) << "no trace at all";
  keep_run(2, at("patterns.db"));
  EXPECT_EQ(must(learn_from_pending_runs(request())).learnt, 1u);
  EXPECT_EQ(pending_files(), 0u);
}

}  // namespace
}  // namespace iotune::patterndb::testing
