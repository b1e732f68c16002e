// Who reads while others write, and a site's database beneath the user's own.
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patterndb/learn/observe.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Layers : public Folder {
 protected:
  // Whether a decision for the file of vpic_run() has settings, and which.
  Decision asked(const std::string& lower = {}) {
    Places places{path_, "", "", 1};
    places.lower = {lower};
    return must(decide(vpic_question(), places));
  }
  void learn(const std::string& path) { must(create(path).add_observation(vpic_run(), "run-1")); }
  void answer(const std::string& path, const std::string& settings, double made_at = 100) {
    must(create(path).add_tuning(tuned(vpic(), settings, made_at)));
  }

  std::string path_ = at("patterns.db");
};

// Another program that changes the database in place, and does not end.
class Writer {
 public:
  Writer(const std::string& path, const char* begin) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, begin, nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "DELETE FROM tunings", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~Writer() { sqlite3_close(db_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

 private:
  sqlite3* db_ = nullptr;
};

TEST_F(Layers, AReaderWaitsForNoWriter) {
  learn(path_);
  answer(path_, "cb_nodes=2");
  for (const char* const begin : {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
    const Writer writer(path_, begin);
    // Exclusive is a writer for the moment of its commit alone: a reader gives up after a while.
    if (std::string(begin) == "BEGIN IMMEDIATE") {
      EXPECT_EQ(asked().settings.text(), "cb_nodes=2");
      // What cannot be stored now is kept for later.
      PatternDb db = must(PatternDb::open(path_, {Access::kReadWrite, 20}));
      EXPECT_FALSE(db.add_tuning(tuned(vpic(), "cb_nodes=4")));
    } else {
      EXPECT_FALSE(PatternDb::open(path_, {Access::kReadOnly, 20}));
    }
    Result<std::string> left = keep(vpic_run(60, "run-2"), path_, at("spool"), spool_name("run-2"));
    EXPECT_NE(must(std::move(left)), "");
  }
  EXPECT_EQ(entries(at("spool")), 2u);
  EXPECT_EQ(asked().settings.text(), "cb_nodes=2");
}

TEST_F(Layers, ADeadWritersHalfChangeIsTakenBack) {
  learn(path_);
  answer(path_, "cb_nodes=2");
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    // So small a cache that pages are written before the end.
    sqlite3_exec(db,
                 "PRAGMA cache_size=1; BEGIN; DELETE FROM tunings; DELETE FROM patterns;"
                 "DELETE FROM observations; DELETE FROM workload_patterns;"
                 "DELETE FROM workloads;",
                 nullptr, nullptr, nullptr);
    sqlite3_db_cacheflush(db);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(exists(path_ + "-journal"));
  EXPECT_EQ(asked().settings.text(), "cb_nodes=2");
}

TEST_F(Layers, ALinkStaysOne) {
  learn(at("real.db"));
  ASSERT_EQ(symlink(at("real.db").c_str(), path_.c_str()), 0);
  answer(path_, "cb_nodes=2");
  struct stat status {};
  ASSERT_EQ(lstat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_EQ(asked().settings.text(), "cb_nodes=2");
}

TEST_F(Layers, TheUsersOwnAnswerComesFirst) {
  const std::string site = at("site.db");
  learn(site);
  answer(site, "cb_nodes=4");
  // Without an own database, and where the own one knows the pattern alone.
  EXPECT_EQ(asked(site).settings.text(), "cb_nodes=4");
  learn(path_);
  const Decision lower = asked(site);
  EXPECT_EQ(lower.settings.text(), "cb_nodes=4");
  EXPECT_EQ(lower.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(lower.row, -1);
  EXPECT_NE(lower.message.find(site), std::string::npos);
  answer(path_, "cb_nodes=2");
  EXPECT_EQ(asked(site).settings.text(), "cb_nodes=2");
  EXPECT_GT(asked(site).row, 0);
}

TEST_F(Layers, TheSiteNeedsNotToKnowTheProgram) {
  const std::string site = at("site.db");
  answer(site, "cb_nodes=4");
  EXPECT_EQ(asked(site).source, IOTUNE_SOURCE_UNKNOWN);
  learn(path_);
  EXPECT_EQ(asked(site).settings.text(), "cb_nodes=4");
  EXPECT_EQ(asked(at("missing.db")).source, IOTUNE_SOURCE_UNTRAINED);
}

std::string places_of(const std::string& folder) {
  const std::string named = folder + "/site/patterns.db";
  setenv("XDG_DATA_HOME", "/own", 1);
  setenv("IOTUNE_DB", named.c_str(), 1);
  std::string found = default_db_path();
  for (const std::string& path : lower_db_paths("/etc/db")) found += " " + path;
  unsetenv("IOTUNE_DB");
  for (const std::string& path : lower_db_paths("/etc/db")) found += "; " + path;
  return found;
}

TEST_F(Layers, ADatabaseThatMayNotBeChangedIsTheLowerOne) {
  chmod(folder().c_str(), 0755);
  ASSERT_EQ(mkdir(at("site").c_str(), 0755), 0);
  create(at("site/patterns.db"));
  chmod(at("site/patterns.db").c_str(), 0444);
  chmod(at("site").c_str(), 0555);
  EXPECT_EQ(as_ordinary_user(folder(), places_of),
            "/own/iotune/patterns.db " + at("site/patterns.db") + " /etc/db; /etc/db");
  chmod(at("site").c_str(), 0755);
}

}  // namespace
}  // namespace iotune::patterndb::testing
