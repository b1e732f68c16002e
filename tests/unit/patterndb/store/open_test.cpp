// Databases that are missing, damaged, newer, foreign, or not to be trusted.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patterndb/store/places.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Open : public Folder {
 protected:
  std::string message(Access access = Access::kReadOnly) {
    Result<PatternDb> db = PatternDb::open(path_, {access, 50});
    return db ? "" : db.error().text();
  }
  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string path_ = at("patterns.db");
};

TEST_F(Open, MissingIsReportedAndNotMade) {
  EXPECT_EQ(message(), path_ + ": no pattern database there");
  EXPECT_EQ(message(Access::kReadWrite), path_ + ": no pattern database there");
  EXPECT_FALSE(exists(path_));
}

TEST_F(Open, NoneIsNoFile) {
  path_ = "none";
  EXPECT_EQ(message(Access::kCreate), "IOTUNE_DB=none: no pattern database is used");
  EXPECT_FALSE(exists("none"));
}

TEST_F(Open, CreatedPrivateWithItsFolders) {
  path_ = at("a/b/patterns.db");
  EXPECT_EQ(message(Access::kCreate), "");
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(at("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(message(), "");
}

TEST_F(Open, NewerVersionIsRefused) {
  create(path_);
  execute("PRAGMA user_version=9");
  for (Access access : {Access::kReadOnly, Access::kReadWrite, Access::kCreate}) {
    EXPECT_EQ(message(access), path_ +
                                   ": pattern database of version 9; this iotune knows "
                                   "versions up to " +
                                   std::to_string(kSchemaVersion));
  }
}

TEST_F(Open, AnotherProgramsDatabaseIsLeftAlone) {
  execute("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_EQ(message(Access::kCreate), path_ + ": a database, but none of iotune");
  execute("PRAGMA user_version=1");
  EXPECT_EQ(message(Access::kReadOnly), path_ + ": a database, but none of iotune");
}

TEST_F(Open, GarbageIsReportedAsDamage) {
  write_file(path_, std::string(5000, 'x'));
  EXPECT_NE(message().find(path_ + ": the pattern database is damaged or no database"),
            std::string::npos);
  EXPECT_NE(message(Access::kCreate).find("damaged"), std::string::npos);
}

TEST_F(Open, DamageInTheMiddleIsAMessage) {
  {
    PatternDb db = create(path_);
    for (int i = 0; i < 300; ++i) {
      must(
          db.add_tuning(tuned(one_dimensional(1000u + static_cast<unsigned>(i), 4), "cb_nodes=2")));
    }
  }
  std::string bytes = read_file(path_);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_file(path_, bytes);
  Result<PatternDb> db = PatternDb::open(path_, {});
  Result<std::string> listed = db ? db->list() : Result<std::string>(db.error());
  ASSERT_FALSE(listed);
  EXPECT_NE(listed.error().text().find(path_), std::string::npos);
}

TEST_F(Open, AFolderIsNoDatabase) {
  mkdir(path_.c_str(), 0700);
  EXPECT_EQ(message(), path_ + ": not a regular file");
}

TEST_F(Open, PathsWithSpecialCharacters) {
  path_ = at("a b?c#d%41.db");
  EXPECT_EQ(message(Access::kCreate), "");
  EXPECT_TRUE(exists(path_));
  EXPECT_EQ(message(), "");
}

std::string open_readable(const std::string& folder) {
  Result<PatternDb> db = PatternDb::open(folder + "/patterns.db", {});
  if (!db) return db.error().text();
  Result<std::string> list = db->list();
  return list ? "" : list.error().text();
}

std::string open_writable(const std::string& folder) {
  Result<PatternDb> db = PatternDb::open(folder + "/patterns.db", {Access::kReadWrite, 50});
  return db ? "opened" : db.error().text();
}

TEST_F(Open, ReadOnlyFolderIsRead) {
  create(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder().c_str(), 0555), 0);
  EXPECT_EQ(as_ordinary_user(folder(), open_readable), "");
  EXPECT_EQ(as_ordinary_user(folder(), open_writable), path_ + ": Permission denied");
  chmod(folder().c_str(), 0700);
}

TEST_F(Open, AStrangersWritableFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT VERIFIED: needs root to own a file as another user";
  create(path_);
  chmod(folder().c_str(), 0755);
  for (mode_t mode : {0666, 0664, 0646}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_NE(as_ordinary_user(folder(), open_readable).find("refused"), std::string::npos);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  EXPECT_EQ(as_ordinary_user(folder(), open_readable), "");
}

TEST_F(Open, AnInterruptedChangeOfAnotherIsNotReadOver) {
  create(path_);
  write_file(path_ + "-journal", "half a transaction");
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder().c_str(), 0555), 0);
  EXPECT_NE(as_ordinary_user(folder(), open_readable).find("interrupted"), std::string::npos);
  chmod(folder().c_str(), 0700);
}

TEST_F(Open, LockedIsAMessageSoon) {
  PatternDb db = create(path_);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  Result<std::int64_t> added = db.add_tuning(tuned(vpic(), "cb_nodes=2"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().text(), path_ + ": the pattern database is in use by another process");
  sqlite3_close(other);
  EXPECT_TRUE(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
}

TEST_F(Open, TriggersOfASharedDatabaseDoNotRun) {
  create(path_);
  execute("CREATE TRIGGER evil AFTER INSERT ON tunings BEGIN DELETE FROM patterns; END");
  PatternDb db = must(PatternDb::open(path_, {Access::kReadWrite, 50}));
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  EXPECT_NE(must(db.list()).find("8388608"), std::string::npos);
}

TEST(Places, Masks) {
  EXPECT_EQ(masked_name("/a/b1/vpic00012.h5"), "vpic#.h5");
  EXPECT_EQ(masked_name("plt"), "plt");
  EXPECT_EQ(masked_name("12a34"), "#a#");
}

TEST(Places, FollowTheEnvironment) {
  setenv("IOTUNE_DB", "/site/db", 1);
  setenv("XDG_DATA_HOME", "/x", 1);
  EXPECT_EQ(default_db_path(), "/site/db");
  // What another database is to learn does not become part of the user's own.
  EXPECT_EQ(default_spool_dir().substr(0, 19), "/x/iotune/spool/of-");
  EXPECT_NE(default_spool_dir(), spool_dir_of("/other/db"));
  EXPECT_EQ(spool_dir_of("/x/iotune/patterns.db"), "/x/iotune/spool");
  unsetenv("IOTUNE_DB");
  EXPECT_EQ(default_db_path(), "/x/iotune/patterns.db");
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(default_db_path(), "/h/.local/share/iotune/patterns.db");
  unsetenv("HOME");
  EXPECT_EQ(default_db_path(), "");
}

// Who may replace a folder above it, or the folder that a link leads to, may replace the database.
TEST_F(Open, FoldersThatEverybodyMayWriteAreRefusedBehindLinksAndAboveToo) {
  ASSERT_EQ(mkdir(at("all").c_str(), 0700), 0);
  ASSERT_EQ(mkdir(at("all/own").c_str(), 0700), 0);
  const std::string path = at("all/own/patterns.db");
  create(path);
  ASSERT_EQ(symlink(path.c_str(), at("link.db").c_str()), 0);
  EXPECT_EQ(reason_to_refuse(path), "");
  EXPECT_EQ(reason_to_refuse(at("link.db")), "");
  ASSERT_EQ(chmod(at("all").c_str(), 0777), 0);
  EXPECT_NE(reason_to_refuse(path).find(at("all") + "/"), std::string::npos);
  EXPECT_NE(reason_to_refuse(at("link.db")).find(at("all") + "/"), std::string::npos);
  ASSERT_EQ(chmod(at("all").c_str(), 01777), 0);  // sticky, as /tmp is
  EXPECT_EQ(reason_to_refuse(path), "");
}

// A group's folder is where colleagues may put another database in a site's place. One's own file
// is as safe there as what one wrote oneself, and a private group has nobody else in it.
TEST_F(Open, AFolderThatAGroupMayWriteIsRefusedForAStrangersDatabase) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT VERIFIED: needs root to own files as another user";
  constexpr uid_t kSite = 12345;
  constexpr gid_t kColleagues = 23456;
  const std::string shared = at("shared"), path = shared + "/patterns.db";
  ASSERT_EQ(mkdir(shared.c_str(), 0700), 0);
  create(path);
  ASSERT_EQ(chown(path.c_str(), kSite, kColleagues), 0);
  auto refused = [&](uid_t owner, gid_t group, mode_t mode) {
    EXPECT_EQ(chown(shared.c_str(), owner, group), 0);
    EXPECT_EQ(chmod(shared.c_str(), mode), 0);
    return reason_to_refuse(path).find(shared + "/ (chmod go-w") != std::string::npos;
  };
  EXPECT_TRUE(refused(kSite, kColleagues, 02775));
  EXPECT_FALSE(refused(kSite, kColleagues, 02755));
  EXPECT_FALSE(refused(kSite, kColleagues, 03775));  // sticky
  EXPECT_FALSE(refused(kSite, kSite, 0775)) << "the site's own group, by a umask of 002";
  EXPECT_TRUE(refused(kSite, kSite, 0777));
  // and the caller's own file
  ASSERT_EQ(chown(path.c_str(), geteuid(), kColleagues), 0);
  EXPECT_FALSE(refused(kSite, kColleagues, 02775));
  EXPECT_TRUE(refused(kSite, kColleagues, 02777));
}

}  // namespace
}  // namespace iotune::patterndb::testing
