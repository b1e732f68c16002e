// A database that thousands of runs feed: what stays a row, what is added up, what a change writes.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "patterndb/exchange/record_json.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/retention.h"
#include "patterndb/store/spool.h"
#include "patterndb/store/sqlite.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tests/unit/patterndb/statfs_mock.h"

namespace iotune::patterndb::testing {
namespace {

// Bytes that this process has passed to write(2) and its kin.
std::uint64_t written_bytes() {
  unsigned long long bytes = 0;
  FILE* const file = fopen("/proc/self/io", "r");
  if (file == nullptr || fscanf(file, "rchar: %*u wchar: %llu", &bytes) != 1) {
    ADD_FAILURE() << "/proc/self/io cannot be read";
  }
  if (file != nullptr) fclose(file);
  return bytes;
}

class Growth : public Folder {
 protected:
  std::int64_t number(const std::string& sql) {
    sqlite::Connection connection(path_, path_, SQLITE_OPEN_READONLY);
    sqlite::Statement row(connection, sql);
    return row.step() ? row.integer(0) : -1;
  }
  Json ledger() { return Json::parse(must(must(PatternDb::open(path_, {})).ledger())); }
  Json first_seen() {
    const Json history = Json::parse(must(must(PatternDb::open(path_, {})).history(1)));
    for (const Json& move : history["moves"]) {
      if (move["kind"] == "first seen") return move;
    }
    return {};
  }
  // Runs with settings and every fourth left at its default, which takes twice as long. Returns
  // the names under which they were stored.
  void add_runs(PatternDb& db, int first, int count) {
    const std::string spool = at("spool");
    for (int i = first; i < first + count; ++i) {
      Observation run = vpic_run(i + 1, "run-" + std::to_string(i));
      ObservedFile& file = run.files[0];
      const bool at_default = i % 4 == 0;
      file.decision_source = at_default ? "explore" : "exact";
      file.decision_row = 1;
      if (!at_default) file.settings = must(Settings::parse("cb_nodes=2"));
      file.seconds = at_default ? 4 : 2;
      char name[32];
      snprintf(name, sizeof name, "%012d%s", i, kSpoolSuffix);
      must(leave_in_spool(run, spool, name));
    }
    must(db.ingest_spool(spool, 1'000'000));
  }
  std::string path_ = at("patterns.db");
};

TEST_F(Growth, TheNewestStayRowsAndNoSumForgetsTheOthers) {
  PatternDb db = create(path_);
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  constexpr int kRuns = 1500, kTuned = kRuns / 4 * 3, kAtOnce = 500;
  for (int i = 0; i < kRuns; i += kAtOnce) add_runs(db, i, kAtOnce);
  constexpr auto kKept = static_cast<std::int64_t>(kKeptRows);
  EXPECT_EQ(number("SELECT count(*) FROM observations WHERE decision_source = 'exact'"), kKept);
  EXPECT_EQ(number("SELECT min(observed_at) FROM observations WHERE decision_source = 'exact'"),
            kRuns - kKept * 4 / 3 + 1);
  EXPECT_EQ(number("SELECT sum(files) FROM totals"), kTuned - kKept);
  // As if all were there: 2 s instead of 4, of each run.
  const Json sums = ledger();
  EXPECT_EQ(sums["files"], kTuned);
  EXPECT_NEAR(sums["hours_saved"].get<double>(), kTuned * 2 / 3600.0, 1e-6);
  EXPECT_EQ(sums["slower_files"], 0);
  EXPECT_EQ(sums["files_left_at_default"], kRuns - kTuned);
  EXPECT_EQ(first_seen()["runs"], kRuns);
  EXPECT_EQ(first_seen()["at"], 1);
  EXPECT_EQ(number("SELECT tuned_runs + default_runs FROM trials"), kRuns);
  for (const Json& one : Json::parse(must(db.show(1)))["measured"]) {
    EXPECT_EQ(one["files"], one["settings_text"] == "" ? kRuns - kTuned : kTuned);
    EXPECT_EQ(one["runs"], one["files"]);
  }
  // A spool file that outlived its commit by so many runs.
  Observation again = vpic_run(2, "run-1");
  again.files[0].decision_source = "exact";
  again.files[0].decision_row = 1;
  again.files[0].settings = must(Settings::parse("cb_nodes=2"));
  EXPECT_FALSE(must(db.add_observation(again, std::string("000000000001") + kSpoolSuffix)));
  EXPECT_EQ(first_seen()["runs"], kRuns);

  // Another database takes all of it, and takes nothing twice.
  PatternDb other = create(at("other.db"));
  const std::string document = must(db.export_json());
  for (int i = 0; i < 2; ++i) {
    must(other.import_json(document, "document"));
    const Json there = Json::parse(must(other.ledger()));
    EXPECT_EQ(there["files"], kTuned);
    EXPECT_EQ(there["hours_saved"], sums["hours_saved"]);
  }
  EXPECT_NE(must(other.history(1)).find("\"runs\":" + std::to_string(kRuns)), std::string::npos);
}

TEST_F(Growth, ManyFilesOfARunBecomeFewRowsWithTheirSums) {
  PatternDb db = create(path_);
  Observation run = vpic_run();
  const ObservedFile file = run.files[0];
  run.files.assign(1000, file);
  for (std::size_t i = 0; i < run.files.size(); ++i) {
    run.files[i].path = "/data/vpic" + std::to_string(10000 + i) + ".h5";
  }
  must(db.add_observation(run, "spooled"));
  EXPECT_EQ(number("SELECT count(*) FROM observations"), std::int64_t{kRowsOfARun});
  EXPECT_EQ(number("SELECT sum(files) FROM observations"), 1000);
  EXPECT_EQ(number("SELECT sum(bytes_written) FROM observations"),
            static_cast<std::int64_t>(1000 * file.bytes_written));
  EXPECT_EQ(number("SELECT sum(seconds) FROM observations"), 1000 * file.seconds);
  EXPECT_EQ(Json::parse(must(db.show(1)))["measured"][0]["files"], 1000);
  EXPECT_EQ(first_seen()["runs"], 1);
  EXPECT_FALSE(must(db.add_observation(run, "spooled")));
}

TEST_F(Growth, AWorkloadThatDriftsForEverKeepsTheNewestDriftsAndTheirNumber) {
  PatternDb db = create(path_);
  const std::string spool = at("spool");
  constexpr int kRuns = 201;
  for (int i = 0; i < kRuns; ++i) {
    Observation run = vpic_run(i, "run-" + std::to_string(i));
    if (i % 2 == 0) run.files[0].uses[0].pattern = one_dimensional(1000, 8);
    must(leave_in_spool(run, spool));
    must(db.ingest_spool(spool, 1));
  }
  EXPECT_EQ(number("SELECT count(*) FROM drifts"), 64);
  EXPECT_EQ(number("SELECT min(observed_at) FROM drifts"), kRuns - 64);
  EXPECT_EQ(ledger()["drifts"], kRuns - 1);
}

// As an older version left it, or a spool of years that is folded at once.
TEST_F(Growth, CompactAddsUpWhatIsTooMuchAndGivesTheSpaceBack) {
  for (const mode_t mode : {0600, 0644}) {
    unlink(path_.c_str());
    PatternDb db = create(path_);
    must(db.add_observation(vpic_run(), "first"));
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    {
      sqlite::Connection connection(path_, path_, SQLITE_OPEN_READWRITE);
      connection.execute(
          "WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
          "INSERT INTO observations SELECT NULL, 'spool-' || i, 0, run, trace, program_path, "
          "file_path, workload, platform, pattern, settings, decision_source, decision_row, "
          "bytes_written, bytes_read, seconds, elapsed_seconds, 50 + i, 1, size "
          "FROM observations, n");
    }
    db = must(PatternDb::open(path_, {Access::kReadWrite, 200}));
    const Json said = Json::parse(must(db.compact()));
    EXPECT_EQ(said["observations_added_up"], 20000 - kKeptRows);
    EXPECT_EQ(said["bytes_after"], std::filesystem::file_size(path_));
    EXPECT_LT(said["bytes_after"].get<double>(), said["bytes_before"].get<double>() / 10);
    EXPECT_EQ(number("SELECT count(*) FROM observations"), std::int64_t{kKeptRows});
    EXPECT_EQ(number("SELECT files + runs FROM totals"), 2 * (20000 - std::int64_t{kKeptRows}));
    struct stat status;
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
    // The same object goes on.
    EXPECT_TRUE(must(db.add_observation(vpic_run(30000), "last")));
    EXPECT_EQ(entries(folder()), 1u);
  }
}

// 100 kinds of 1,000 runs each, and all that a run's end may touch: an answer and its test, a row
// that becomes one too many.
TEST_F(Growth, ARunsEndWritesTheSameHoweverMuchIsKept) {
  PatternDb db = create(path_);
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  add_runs(db, 0, 8);
  {
    sqlite::Connection connection(path_, path_, SQLITE_OPEN_READWRITE);
    connection.execute(
        "BEGIN; WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
        "INSERT INTO workloads SELECT NULL, 'program' || i, file, ranks, nodes FROM workloads, n;"
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1024) "
        "INSERT INTO observations SELECT NULL, printf('%012d-spool-%d', i, w.id), 0, run, trace, "
        "program_path, file_path, w.id, platform, pattern, settings, decision_source, "
        "decision_row, bytes_written, bytes_read, seconds, elapsed_seconds, 50 + i, 1, size "
        "FROM n, workloads w, (SELECT * FROM observations WHERE decision_source = 'exact' LIMIT 1);"
        "COMMIT");
  }
  ASSERT_GT(number("SELECT count(*) FROM observations"), 100'000);
  for (int i = 5000; i < 5010; ++i) {
    Observation run = vpic_run(i, "run-" + std::to_string(i));
    ObservedFile& file = run.files[0];
    file.decision_source = i % 4 == 0 ? "explore" : "exact";
    file.decision_row = 1;
    if (i % 4 != 0) file.settings = must(Settings::parse("cb_nodes=2"));
    struct stat before, after;
    ASSERT_EQ(stat(path_.c_str(), &before), 0);
    const std::uint64_t written = written_bytes();
    EXPECT_EQ(must(keep(run, path_, at("spool"), spool_name(run.run))), "");
    EXPECT_LE(written_bytes() - written, 64u << 10) << i;
    ASSERT_EQ(stat(path_.c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino) << "it was copied";
  }
  EXPECT_GT(number("SELECT sum(files) FROM totals"), 0) << "no row was dropped";
  EXPECT_EQ(entries(folder()), 2u) << "a journal, a lock or a copy was left";
}

TEST_F(Growth, ADatabaseThatTookItsPlaceIsTheOneThatIsChanged) {
  PatternDb db = create(path_);
  must(db.add_observation(vpic_run(), "before"));
  std::filesystem::copy_file(path_, at("restored.db"));
  must(db.add_observation(vpic_run(60, "lost"), "lost"));
  std::filesystem::rename(at("restored.db"), path_);
  must(db.add_observation(vpic_run(70, "after"), "after"));
  EXPECT_EQ(number("SELECT count(*) FROM observations"), 2);
}

// They cannot be locked by those who may only read them.
TEST_F(Growth, WhatOthersReadIsReplacedAndNeverChangedInPlace) {
  PatternDb db = create(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  struct stat before, after;
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  const std::string bytes = read_file(path_);
  std::filesystem::create_hard_link(path_, at("as it was"));
  must(db.add_observation(vpic_run(), "one"));
  ASSERT_EQ(stat(path_.c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  EXPECT_EQ(read_file(at("as it was")), bytes);
}

TEST_F(Growth, ASpoolThatNobodyFoldsIsBounded) {
  const std::string spool = at("spool");
  const auto leave = [&](int i, const std::string& run) {
    char name[32];
    snprintf(name, sizeof name, "%012d%s", i, kSpoolSuffix);
    must(leave_in_spool(vpic_run(i, run), spool, name));
  };
  constexpr int kMost = kMostSpoolFiles;
  for (int i = 0; i < kMost + 10; ++i) leave(i, "run");
  EXPECT_EQ(entries(spool), kMostSpoolFiles);
  EXPECT_FALSE(exists(spool + "/000000000009" + kSpoolSuffix));
  EXPECT_TRUE(exists(spool + "/000000000010" + kSpoolSuffix));
  // Few large ones too, also such as were set aside.
  std::filesystem::remove_all(spool);
  leave(0, "run");
  std::filesystem::rename(spool + "/000000000000" + kSpoolSuffix,
                          spool + "/000000000000" + kSpoolSuffix + ".bad");
  for (int i = 1; i <= 10; ++i) leave(i, std::string(kMostSpoolBytes / 8, 'r'));
  EXPECT_LE(entries(spool), 8u);
  EXPECT_TRUE(exists(spool + "/000000000010" + kSpoolSuffix));
}

}  // namespace
}  // namespace iotune::patterndb::testing
