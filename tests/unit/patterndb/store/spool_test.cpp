#include "patterndb/store/spool.h"

#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "patterndb/exchange/record_json.h"
#include "patterndb/learn/observe.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Spool : public Folder {
 protected:
  IngestReport ingest(std::size_t most = 1000) { return must(db_.ingest_spool(spool_, most)); }
  std::size_t observed() {
    // Opened anew: what others store meanwhile is another file.
    PatternDb db = must(PatternDb::open(at("patterns.db"), {}));
    return Json::parse(must(db.export_json()))["observations"].size();
  }
  std::string spool_ = at("spool");
  PatternDb db_ = create(at("patterns.db"));
};

TEST_F(Spool, WrittenWholePrivateAndOnce) {
  std::string path = must(leave_in_spool(vpic_run(), spool_));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(entries(spool_), 1u);
  EXPECT_NE(must(leave_in_spool(vpic_run(), spool_)), path);
  EXPECT_EQ(entries(spool_), 2u);
}

TEST_F(Spool, RunNamesDoNotLeaveTheFolder) {
  std::string path = must(leave_in_spool(vpic_run(1, "../../evil name\n"), spool_));
  EXPECT_EQ(path.substr(0, spool_.size() + 1), spool_ + "/");
  EXPECT_EQ(path.find('/', spool_.size() + 1), std::string::npos);
  EXPECT_EQ(ingest().files, 1u);
}

TEST_F(Spool, FoldedAndGone) {
  must(leave_in_spool(vpic_run(1, "a"), spool_));
  must(leave_in_spool(vpic_run(2, "b"), spool_));
  IngestReport report = ingest();
  EXPECT_EQ(report.files, 2u);
  EXPECT_EQ(report.observations, 2u);
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(entries(spool_), 0u);
  EXPECT_EQ(ingest().files, 0u);
  EXPECT_EQ(observed(), 2u);
}

TEST_F(Spool, AMissingFolderIsEmpty) {
  EXPECT_EQ(ingest().files, 0u);
}

TEST_F(Spool, DeathBetweenCommitAndUnlinkCountsNothingTwice) {
  std::string path = must(leave_in_spool(vpic_run(), spool_));
  std::filesystem::copy_file(path, at("kept"));
  EXPECT_EQ(ingest().observations, 1u);
  std::filesystem::copy_file(at("kept"), path);
  IngestReport again = ingest();
  EXPECT_EQ(again.files, 1u);
  EXPECT_EQ(again.observations, 0u);
  EXPECT_EQ(observed(), 1u);
  EXPECT_FALSE(exists(path));
}

TEST_F(Spool, BadFilesStepAsideAndGoodOnesGoIn) {
  std::string good = must(leave_in_spool(vpic_run(), spool_));
  std::string text = read_file(good);
  std::string bad = spool_ + "/1.observation.json";
  write_file(bad, text.substr(0, text.size() / 2));
  std::string odd = spool_ + "/2.observation.json";
  std::string changed = text;
  changed.replace(changed.find("\"op\":\"write\""), 12, "\"op\":\"wrote\"");
  write_file(odd, changed);
  std::string none = spool_ + "/3.observation.json";
  changed = text;
  changed.replace(changed.find("\"version\":1"), 11, "\"version\":0");
  write_file(none, changed);
  IngestReport report = ingest();
  EXPECT_EQ(report.files, 1u);
  ASSERT_EQ(report.faults.size(), 3u);
  EXPECT_EQ(report.faults[0].find(bad + ": JSON:"), 0u) << report.faults[0];
  EXPECT_EQ(report.faults[1], odd +
                                  ": /files/0/patterns/0/pattern/op: neither write nor read; "
                                  "now " +
                                  odd + ".bad");
  EXPECT_NE(report.faults[2].find("/version: version 0"), std::string::npos);
  EXPECT_TRUE(exists(bad + ".bad"));
  EXPECT_TRUE(exists(odd + ".bad"));
  EXPECT_FALSE(exists(bad));
  EXPECT_EQ(observed(), 1u);
  EXPECT_EQ(ingest().faults.size(), 0u);
}

TEST_F(Spool, LinksAndOtherFilesAreNotFollowed) {
  std::string kept = must(leave_in_spool(vpic_run(), at("elsewhere")));
  std::filesystem::create_directory(spool_);
  ASSERT_EQ(symlink(kept.c_str(), (spool_ + "/9.observation.json").c_str()), 0);
  write_file(spool_ + "/.hidden.observation.json", "{}");
  write_file(spool_ + "/README", "mine");
  IngestReport report = ingest();
  EXPECT_EQ(report.files, 0u);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_NE(report.faults[0].find("left there"), std::string::npos) << report.faults[0];
  EXPECT_TRUE(exists(kept));
  EXPECT_TRUE(exists(spool_ + "/README"));
}

// A site folds in what its users observed, and spoils the spool of nobody.
TEST_F(Spool, AnothersFolderIsFoldedInByRootAndAStrangersFileIsLeftWhereItIs) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT VERIFIED: needs root to make files of other users";
  constexpr uid_t kUser = 12345, kStranger = 12346;
  std::string own = must(leave_in_spool(vpic_run(1), spool_));
  const std::string strange = spool_ + "/0.observation.json";  // before the other
  std::filesystem::rename(must(leave_in_spool(vpic_run(2), spool_)), strange);
  ASSERT_EQ(chown(spool_.c_str(), kUser, kUser), 0);
  ASSERT_EQ(chown(own.c_str(), kUser, kUser), 0);
  ASSERT_EQ(chown(strange.c_str(), kStranger, kStranger), 0);
  IngestReport report = ingest(1);
  EXPECT_EQ(report.files, 1u);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0], strange + ": it belongs to another user; left there");
  EXPECT_TRUE(exists(strange));
  EXPECT_FALSE(exists(own));
  EXPECT_EQ(observed(), 1u);
}

TEST_F(Spool, ALimitLeavesTheRest) {
  for (int i = 0; i < 5; ++i) must(leave_in_spool(vpic_run(i), spool_));
  IngestReport report = ingest(3);
  EXPECT_EQ(report.files, 3u);
  EXPECT_EQ(report.left, 2u);
  EXPECT_EQ(ingest(3).files, 2u);
}

TEST_F(Spool, AFullDiskLeavesNothing) {
  const std::string small = at("small");
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "NOT VERIFIED: a spool on a full disk: no small file system can be mounted";
  }
  const std::string spool = small + "/spool";
  const std::string fitted = must(leave_in_spool(vpic_run(), spool));
  // Room for the first page of the next one, and for none.
  for (std::size_t pages : {13u, 1u}) {
    write_file(small + "/full" + std::to_string(pages), std::string(pages * 4096, 'x'));
    const Result<std::string> left = leave_in_spool(vpic_run(1, std::string(20000, 'r')), spool);
    ASSERT_FALSE(left) << *left;
    EXPECT_EQ(left.error().text(), spool + ": No space left on device");
    EXPECT_EQ(entries(spool), 1u) << "hidden ones are counted too";
  }
  EXPECT_EQ(must(db_.ingest_spool(spool, 10)).observations, 1u);
  EXPECT_FALSE(exists(fitted));
  // No folder can be made there at all.
  EXPECT_FALSE(leave_in_spool(vpic_run(), "/dev/full/spool"));
  umount(small.c_str());
}

// Two versions share a home: the older one must not take the newer one's observations away.
TEST_F(Spool, WhatANewerIotuneLeftStaysForIt) {
  const std::string path = must(leave_in_spool(vpic_run(1, "newer"), spool_));
  std::string text = read_file(path);
  const std::string own = text;
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  text.replace(text.find("\"files\":["), 9, "\"files\":{\"of another\":\"shape\"},\"old\":[");
  write_file(path, text);
  must(leave_in_spool(vpic_run(2, "own"), spool_));
  const IngestReport report = ingest();
  EXPECT_EQ(report.files, 1u);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0],
            path + ": /version: version 2; this iotune reads 1; left there for a newer one");
  EXPECT_EQ(read_file(path), text);
  EXPECT_EQ(entries(spool_), 1u);
  EXPECT_EQ(observed(), 1u);
  // and the newer one, here by its words of today, folds it in
  write_file(path, own);
  EXPECT_EQ(ingest().observations, 1u);
}

TEST_F(Spool, ARunsEndGoesPastIt) {
  EXPECT_EQ(must(keep(vpic_run(), at("patterns.db"), spool_, spool_name("r"))), "");
  EXPECT_EQ(observed(), 1u);
  EXPECT_FALSE(exists(spool_));
  // The same run twice are two runs: who keeps the database tells them apart.
  EXPECT_EQ(must(keep(vpic_run(), at("patterns.db"), spool_, spool_name("r"))), "");
  EXPECT_EQ(observed(), 2u);
}

TEST_F(Spool, ARunsEndIsLeftInItWhereTheDatabaseIsLocked) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(at("patterns.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::string left = must(keep(vpic_run(), at("patterns.db"), spool_, spool_name("r")));
  sqlite3_close(other);
  EXPECT_TRUE(exists(left));
  EXPECT_EQ(entries(spool_), 1u);
  EXPECT_EQ(observed(), 0u);
  EXPECT_EQ(ingest().observations, 1u);
}

TEST_F(Spool, ARunsEndIsLeftInItWhereTheDatabaseIsNone) {
  write_file(at("other.db"), "not a database, but somebody's");
  EXPECT_TRUE(exists(must(keep(vpic_run(), at("other.db"), spool_, spool_name("r")))));
  EXPECT_EQ(read_file(at("other.db")), "not a database, but somebody's");
  EXPECT_FALSE(keep(vpic_run(), at("other.db"), "/dev/full/spool", spool_name("r")));
}

}  // namespace
}  // namespace iotune::patterndb::testing
