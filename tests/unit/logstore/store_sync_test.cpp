// What sync() brings to the storage, by the calls that it makes.
#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>

#include "store_fixture.h"

namespace {

std::vector<std::string>& synced() {
  static std::vector<std::string> paths;
  return paths;
}

void remember(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  synced().push_back(std::filesystem::read_symlink(link).filename().string());
}

}  // namespace

// In front of libc's.
extern "C" int fsync(int fd) {
  remember(fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}
extern "C" int fdatasync(int fd) {
  remember(fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

namespace iotune::logstore {
namespace {

class StoreSyncTest : public testing::StoreTest {
 protected:
  StoreSyncTest() { synced().clear(); }
  static std::ptrdiff_t times(const std::string& name) {
    return std::ranges::count(synced(), name);
  }
  // The only writer's.
  std::string name_of(const std::string& ending) const {
    for (const auto& entry : testing::fs::directory_iterator(path_)) {
      if (entry.path().string().ends_with(ending)) return entry.path().filename().string();
    }
    return "none";
  }
};

TEST_F(StoreSyncTest, data_come_before_the_index_and_names_are_synced_once) {
  const auto file = open();
  put(*file, 0, "x");
  ASSERT_EQ(file->sync(), 0);
  const std::string log = name_of(".log");
  const std::string index = name_of(".index");
  EXPECT_EQ(times(log), 1);
  EXPECT_EQ(times(index), 1);
  EXPECT_LT(std::ranges::find(synced(), log), std::ranges::find(synced(), index));
  EXPECT_EQ(times("container"), 1);
  EXPECT_EQ(times("file.h5"), 1);
  EXPECT_EQ(times(root_.filename().string()), 1);
  put(*file, 0, "y");
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(times(log), 2);
  EXPECT_EQ(times("file.h5"), 1);
}

TEST_F(StoreSyncTest, who_has_not_written_syncs_what_others_wrote) {
  put(*open(), 0, "x");
  LoggedFile::close_idle();
  const auto file = open();
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(times(name_of(".log")), 1);
  EXPECT_EQ(times(name_of(".index")), 1);
}

TEST_F(StoreSyncTest, what_others_have_synced_themselves_is_not_synced_again) {
  const auto file = open();
  EXPECT_EQ(text(*file), "");
  EXPECT_EQ(in_child([&] {
              const auto own = open();
              return put(*own, 0, "x") == 1 && own->sync() == 0 ? 0 : 1;
            }),
            0);
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(times(name_of(".log")), 0);
  EXPECT_EQ(in_child([&] {
              const auto own = open();
              return put(*own, 1, "y") == 1 && own->flush() == 0 ? 0 : 1;
            }),
            0);
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(std::ranges::count_if(synced(),
                                  [](const std::string& name) { return name.ends_with(".log"); }),
            1);
}

TEST_F(StoreSyncTest, who_has_written_syncs_its_own_writers_only) {
  put(*open(), 0, "x");  // an earlier writer of this process
  LoggedFile::close_idle();
  const std::string earlier = name_of(".log");
  EXPECT_EQ(in_child([&] { return put(*open(), 1, "y") == 1 ? 0 : 1; }), 0);
  const auto file = open();
  put(*file, 2, "z");
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(times(earlier), 1);
  EXPECT_EQ(std::ranges::count_if(synced(),
                                  [](const std::string& name) { return name.ends_with(".log"); }),
            2);
  ASSERT_EQ(file->sync(), 0);
  EXPECT_EQ(times(earlier), 1);
}

}  // namespace
}  // namespace iotune::logstore
