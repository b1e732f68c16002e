// A change is a copy and a rename, or a transaction in the file.
#include "patterndb/store/network_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/sqlite.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tests/unit/patterndb/statfs_mock.h"

namespace iotune::patterndb::testing {
namespace {

class NetworkFile : public Folder {
 protected:
  ino_t inode() const {
    struct stat status {};
    return stat(path_.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  std::size_t answers() {
    PatternDb db = must(PatternDb::open(path_, {}));
    return Json::parse(must(db.export_json()))["tunings"].size();
  }
  std::string path_ = at("patterns.db");
};

TEST_F(NetworkFile, TheFileSystemDecides) {
  for (std::int64_t type : {kNfs, kLustre, kUnheardOf}) {
    PretendFilesystem pretend(type);
    EXPECT_TRUE(is_on_network(path_)) << type;
  }
  PretendFilesystem pretend(kExt4);
  EXPECT_FALSE(is_on_network(path_));
}

TEST_F(NetworkFile, AChangeIsAnotherFileThereAndATransactionHere) {
  PatternDb local = create(path_);
  must(local.add_tuning(tuned(vpic(), "cb_nodes=2")));
  double made_at = 200;
  for (std::int64_t type : {kNfs, kUnheardOf, kExt4}) {
    PretendFilesystem pretend(type);
    PatternDb db = create(path_);
    const ino_t before = inode();
    must(db.add_tuning(tuned(vpic(), "cb_nodes=3", ++made_at)));
    EXPECT_EQ(inode() == before, type == kExt4) << type;
    struct stat status;
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    // The same object reads what it wrote, and what others write afterwards.
    EXPECT_NE(must(db.list()).find("cb_nodes=3"), std::string::npos);
  }
  EXPECT_EQ(answers(), 4u);
  EXPECT_EQ(entries(folder()), 1u) << "a journal, a log, a lock or a copy was left";
}

TEST_F(NetworkFile, NeverALogOfWrites) {
  for (std::int64_t type : {kNfs, kExt4}) {
    PretendFilesystem pretend(type);
    std::string path = at(std::to_string(type));
    PatternDb db = create(path);
    must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
    // Bytes 18 and 19 of the head: 1 rollback journal, 2 write-ahead log.
    std::string head = read_file(path).substr(18, 2);
    EXPECT_EQ(head, std::string("\1\1", 2)) << type;
    EXPECT_FALSE(exists(path + "-wal"));
  }
}

TEST_F(NetworkFile, AMissingDatabaseIsMadeThere) {
  PretendFilesystem pretend(kNfs);
  PatternDb db = create(path_);
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  EXPECT_EQ(answers(), 1u);
}

TEST_F(NetworkFile, AFailedChangeLeavesTheFileAndNothingElse) {
  PretendFilesystem pretend(kNfs);
  PatternDb db = create(path_);
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  std::string before = read_file(path_);
  EXPECT_FALSE(
      db.import_json("{\"format\":\"iotune-patterns\",\"version\":2,\"tunings\":[{}]}", "x"));
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(entries(folder()), 1u);
}

TEST_F(NetworkFile, ALockIsWaitedForAndADeadOneBroken) {
  PretendFilesystem pretend(kNfs);
  create(path_);
  PatternDb db = must(PatternDb::open(path_, {Access::kReadWrite, 20}));
  write_file(path_ + ".lock", "");
  Result<std::int64_t> added = db.add_tuning(tuned(vpic(), "cb_nodes=2"));
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().text().find(path_ + ".lock"), std::string::npos);
  EXPECT_TRUE(exists(path_ + ".lock"));
  timespec eleven_minutes_ago[2];
  clock_gettime(CLOCK_REALTIME, &eleven_minutes_ago[0]);
  eleven_minutes_ago[0].tv_sec -= 660;
  eleven_minutes_ago[1] = eleven_minutes_ago[0];
  ASSERT_EQ(utimensat(AT_FDCWD, (path_ + ".lock").c_str(), eleven_minutes_ago, 0), 0);
  // A copy that died with its lock's owner goes too.
  write_file(path_ + ".new-1-2", "half a copy");
  must(db.add_tuning(tuned(vpic(), "cb_nodes=2")));
  EXPECT_EQ(entries(folder()), 1u);
}

}  // namespace
}  // namespace iotune::patterndb::testing
