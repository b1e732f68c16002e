// Many writers, sudden deaths, full disks, old versions: nothing is lost and nothing counts twice.
// IOTUNE_TEST_ROUNDS makes the torture longer.
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "patterndb/exchange/record_json.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tests/unit/patterndb/statfs_mock.h"

namespace iotune::patterndb::testing {
namespace {

constexpr int kWriters = 16;

class Robust : public Folder {
 protected:
  std::set<std::string> stored() {
    PatternDb db = must(PatternDb::open(path_, {}));
    std::set<std::string> names, runs;
    Json exported = Json::parse(must(db.export_json()));
    for (const Json& row : exported["observations"]) {
      EXPECT_TRUE(names.insert(row["spool_file"].get<std::string>()).second) << "counted twice";
      EXPECT_TRUE(runs.insert(row["run"].get<std::string>()).second) << "counted twice";
    }
    return runs;
  }
  std::string checked() {
    sqlite3* db = nullptr;
    sqlite3_stmt* row = nullptr;
    std::string said = "cannot be asked";
    if (sqlite3_open(path_.c_str(), &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &row, nullptr) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
      said = reinterpret_cast<const char*>(sqlite3_column_text(row, 0));
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    return said;
  }

  // Leaves observations, over and over; tells the run of each that it has left. By turns as a run's
  // end does, which goes into the database itself where that can be had, and as who folds the
  // spool.
  [[noreturn]] void write_for_ever(int tell, bool directly) {
    for (int i = 0;; ++i) {
      std::string run = std::to_string(getpid()) + "-" + std::to_string(i);
      Result<std::string> left = directly ? keep(vpic_run(i, run), path_, spool_, spool_name(run))
                                          : leave_in_spool(vpic_run(i, run), spool_);
      if (!left) _exit(1);
      run += left->empty() ? " directly\n" : "\n";
      if (::write(tell, run.data(), run.size()) < 0) _exit(1);
      if (directly) {
        fold_spool(path_, spool_);
        continue;
      }
      Result<PatternDb> db = PatternDb::open(path_, {Access::kCreate, 50});
      if (db) static_cast<void>(db->ingest_spool(spool_, 8));
    }
  }

  // On a network file system a death may leave the lock, which holds for ten minutes: all the
  // others' runs would wait in the spool for as long as the test lasts.
  void free_lock_of(pid_t dead) const {
    const std::string lock = path_ + ".lock", own = lock + "-" + std::to_string(dead) + "-";
    struct stat held, left;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      const std::string& name = entry.path().native();
      if (name.compare(0, own.size(), own) != 0 || stat(name.c_str(), &left) != 0) continue;
      if (stat(lock.c_str(), &held) == 0 && held.st_ino == left.st_ino) unlink(lock.c_str());
    }
  }

  // Writers are killed one by one at drawn moments, each followed by another. Each run that was
  // reported, and whether it was stored directly.
  std::map<std::string, bool> torture(int deaths) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    std::map<std::string, bool> reported;
    int started = 0;
    std::mt19937 random(11);
    std::vector<pid_t> writers;
    std::string text;
    auto start = [&] {
      const bool directly = ++started % 2 == 0;
      pid_t child = fork();
      if (child == 0) {
        ::close(ends[0]);
        write_for_ever(ends[1], directly);
      }
      writers.push_back(child);
    };
    auto listen = [&] {
      pollfd ready{ends[0], POLLIN, 0};
      char buffer[65536];
      while (poll(&ready, 1, 0) > 0) {
        ssize_t n = ::read(ends[0], buffer, sizeof buffer);
        if (n <= 0) break;
        text.append(buffer, static_cast<std::size_t>(n));
      }
    };
    for (int i = 0; i < kWriters; ++i) start();
    for (int i = 0; i < deaths; ++i) {
      usleep(static_cast<useconds_t>(random() % 30000));
      listen();
      std::size_t victim = random() % writers.size();
      kill(writers[victim], SIGKILL);
      waitpid(writers[victim], nullptr, 0);
      free_lock_of(writers[victim]);
      writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(victim));
      start();
    }
    for (pid_t writer : writers) {
      kill(writer, SIGKILL);
      waitpid(writer, nullptr, 0);
    }
    listen();
    ::close(ends[0]);
    ::close(ends[1]);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      reported[line.substr(0, line.find(' '))] = line.find(' ') != std::string::npos;
    }
    return reported;
  }

  static int deaths() {
    const char* rounds = getenv("IOTUNE_TEST_ROUNDS");
    return rounds == nullptr ? 60 : atoi(rounds);
  }

  void nothing_is_lost(const std::map<std::string, bool>& reported) {
    must(must(PatternDb::open(path_, {Access::kCreate, 5000})).ingest_spool(spool_, 1000000));
    EXPECT_EQ(checked(), "ok");
    std::set<std::string> in_database = stored();
    EXPECT_GT(reported.size(), static_cast<std::size_t>(kWriters));
    std::size_t directly = 0;
    for (const auto& [run, stored] : reported) {
      EXPECT_TRUE(in_database.count(run) == 1) << run << " was kept, and is lost";
      directly += stored ? 1 : 0;
    }
    EXPECT_GT(directly, 0u) << "no run's end found the database free";
    EXPECT_LT(directly, reported.size());
    for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
      // What a death interrupted has a hidden name, and no observation is called bad.
      EXPECT_EQ(entry.path().filename().string()[0], '.') << entry.path();
    }
  }

  std::string path_ = at("patterns.db"), spool_ = at("spool");
};

TEST_F(Robust, SixteenWritersAndSuddenDeaths) {
  nothing_is_lost(torture(deaths()));
}

TEST_F(Robust, TheSameOnANetworkFileSystem) {
  PretendFilesystem pretend(kNfs);
  std::map<std::string, bool> reported = torture(deaths());
  // A writer may have died with the lock, which holds for ten minutes else.
  unlink((path_ + ".lock").c_str());
  nothing_is_lost(reported);
}

TEST_F(Robust, AFullDiskIsSaidAndLosesNothing) {
  std::string small = at("small disk");
  mkdir(small.c_str(), 0700);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=320k") != 0) {
    GTEST_SKIP() << "NOT VERIFIED: a full disk: a small file system cannot be mounted here";
  }
  for (std::int64_t type : {kExt4, kNfs}) {
    PretendFilesystem pretend(type);
    path_ = small + "/" + std::to_string(type) + ".db";
    std::string said;
    std::size_t before = 0;
    for (int i = 0; i < 3000 && said.empty(); ++i) {
      Result<PatternDb> db = PatternDb::open(path_, {Access::kCreate, 50});
      Result<IngestReport> report = Error{{}, ""};
      if (db) {
        for (int k = 0; k < 20; ++k) {
          const std::string run = std::to_string(20 * i + k) + std::string(2000, 'r');
          must(leave_in_spool(vpic_run(i, run), spool_));
        }
        before = stored().size();
        report = db->ingest_spool(spool_, 1000);
      }
      if (!db) said = db.error().text();
      if (db && !report) said = report.error().text();
    }
    EXPECT_NE(said.find(path_), std::string::npos) << said;
    EXPECT_EQ(stored().size(), before);
    EXPECT_EQ(checked(), "ok");
    EXPECT_GE(entries(spool_), 20u) << "what could not be folded must stay in the spool";
    unlink(path_.c_str());
    std::filesystem::remove_all(spool_);
  }
  umount(small.c_str());
}

class KeptDatabase : public Folder, public ::testing::WithParamInterface<int> {};

TEST_P(KeptDatabase, IsBroughtForwardWithAllItHolds) {
  std::string kept =
      std::string(IOTUNE_TEST_DATA) + "/databases/v" + std::to_string(GetParam()) + ".db";
  std::string path = at("patterns.db");
  write_file(path, read_file(kept));
  chmod(path.c_str(), 0600);
  {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    std::string sql = "UPDATE platforms SET host_class = '" + local_platform().host_class + "'";
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  Decision decision = must(decide(vpic_question(), {path, at("spool"), "", 0.99}));
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT) << decision.message;
  EXPECT_EQ(decision.settings.text(), "cb_nodes=2;romio_cb_write=disable");
  PatternDb db = must(PatternDb::open(path, {Access::kReadWrite, 50}));
  Json exported = Json::parse(must(db.export_json()));
  EXPECT_EQ(exported["tunings"].size(), 2u);
  EXPECT_EQ(exported["tunings"][1]["default_share"], 0.125);
  EXPECT_EQ(exported["proofs"].size(), GetParam() < 4 ? 0u : 1u);
  EXPECT_EQ(exported["surfaces"].size(), GetParam() < 5 ? 0u : 1u);
  EXPECT_EQ(exported["gain_models"].size(), GetParam() < 5 ? 0u : 1u);
  EXPECT_EQ(exported["observations"].size(), 1u);
  EXPECT_EQ(exported["observations"][0]["seconds"], 2.5);
  // What it holds goes on to be learnt from.
  Observation again = vpic_run(500, "again");
  again.files[0].decision_source = "exact";
  again.files[0].decision_row = 2;
  EXPECT_TRUE(must(db.add_observation(again, "again")));
  EXPECT_NE(must(db.history(1)).find("\"tuned_runs\":1"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, KeptDatabase, ::testing::Range(1, kSchemaVersion + 1));

}  // namespace
}  // namespace iotune::patterndb::testing
