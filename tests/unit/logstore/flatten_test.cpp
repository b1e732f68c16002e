// A container that becomes an ordinary file in its own place, by several ranks.
#include "logstore/flat/flatten.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <thread>

#include "store_fixture.h"

namespace iotune::logstore {
namespace {

class FlattenTest : public testing::StoreTest {
 protected:
  void write(const std::string& text) {
    const auto file = open();
    put(*file, 0, text);
    content_ = text;
  }
  // Each rank, one after the other.
  int flatten(int ranks) {
    std::unique_ptr<Flattening> flattening;
    if (const int wrong = Flattening::begin(path_, flattening); wrong != 0) return wrong;
    int wrong = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const int copied = copy_share(path_, rank, ranks);
      if (wrong == 0) wrong = copied;
    }
    const int ended = flattening->end(wrong == 0);
    return wrong != 0 ? wrong : ended;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : testing::fs::directory_iterator(root_)) {
      all.push_back(entry.path().filename());
    }
    return all;
  }
  bool stays() const {
    return is_container(AT_FDCWD, path_.c_str()) && names().size() == 1 &&
           flushed_text() == content_.substr(0, 200);
  }

  std::string content_;
};

TEST_F(FlattenTest, all_ranks_share_the_bytes) {
  std::string large(5'000'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i / 7);
  write(large);
  ASSERT_EQ(flatten(3), 0);
  EXPECT_TRUE(bytes() == large);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(FlattenTest, size_and_holes_are_the_files) {
  {
    const auto file = open();
    put(*file, 3 << 20, "end");
    file->truncate(9 << 20);
  }
  ASSERT_EQ(flatten(2), 0);
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_TRUE(S_ISREG(about.st_mode));
  EXPECT_EQ(about.st_size, 9 << 20);
  EXPECT_LE(about.st_blocks * 512, 65536);
  EXPECT_EQ(bytes().substr(3 << 20, 3), "end");
}

TEST_F(FlattenTest, mode_time_and_attributes_survive) {
  write("text");
  const std::string handle = path_ + "/handle";
  ASSERT_EQ(chmod(handle.c_str(), 0640), 0);
  const char note[] = "of the file";
  const bool has_attributes = setxattr(path_.c_str(), "user.note", note, sizeof note, 0) == 0;
  if (has_attributes) {
    setxattr(path_.c_str(), "user.other", "a", 1, 0);
    ASSERT_EQ(setxattr(handle.c_str(), "user.other", "b", 1, 0), 0);
  }
  const timespec times[2] = {{1'000'000'000, 0}, {1'500'000'000, 7}};
  ASSERT_EQ(utimensat(AT_FDCWD, handle.c_str(), times, 0), 0);
  LoggedFile::close_idle();
  ASSERT_EQ(flatten(1), 0);
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640U);
  EXPECT_EQ(about.st_mtim.tv_sec, 1'500'000'000);
  EXPECT_EQ(about.st_mtim.tv_nsec, 7);
  if (!has_attributes) GTEST_SKIP() << "NOT VERIFIED: no extended attributes here";
  char value[20] = "";
  EXPECT_EQ(getxattr(path_.c_str(), "user.note", value, sizeof value), std::ssize(note));
  EXPECT_STREQ(value, note);
  EXPECT_EQ(getxattr(path_.c_str(), "user.other", value, sizeof value), 1);
  EXPECT_EQ(value[0], 'b');
}

TEST_F(FlattenTest, nobody_may_have_it_open) {
  write("text");
  auto reader = open();
  EXPECT_EQ(text(*reader), "text");
  EXPECT_EQ(flatten(1), -EBUSY);
  EXPECT_EQ(in_child([&] { return flatten(1) == -EBUSY ? 0 : 1; }), 0);
  auto other = open();
  reader.reset();
  EXPECT_EQ(flatten(1), -EBUSY);
  EXPECT_TRUE(stays());
  other.reset();
  EXPECT_EQ(flatten(1), 0);
  EXPECT_EQ(bytes(), "text");
}

// A lock that a child of a fork holds with its parent is not the parent's to give up.
TEST_F(FlattenTest, a_child_that_has_it_open_counts) {
  write("text");
  auto file = open();
  int reported[2];
  ASSERT_EQ(pipe(reported), 0);
  const pid_t child = fork_safely();
  if (child == 0) {
    ::close(reported[1]);
    char end = 0;
    while (::read(reported[0], &end, 1) < 0) {
    }
    _exit(0);
  }
  ::close(reported[0]);
  file.reset();
  EXPECT_EQ(flatten(1), -EBUSY);
  ::close(reported[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(flatten(1), 0);
}

TEST_F(FlattenTest, who_opens_it_meanwhile_waits_and_finds_a_file) {
  write("text");
  LoggedFile::close_idle();
  std::unique_ptr<Flattening> flattening;
  ASSERT_EQ(Flattening::begin(path_, flattening), 0);
  int opened = 1;
  std::thread opener([&] {
    std::shared_ptr<LoggedFile> file;
    opened = LoggedFile::open(path_, options(), file);
  });
  EXPECT_EQ(copy_share(path_, 0, 1), 0);
  EXPECT_EQ(flattening->end(true), 0);
  flattening.reset();
  opener.join();
  // Which of the two depends on when it came.
  EXPECT_TRUE(opened == -ENOENT || opened == -ENOTDIR) << opened;
  EXPECT_EQ(bytes(), "text");
}

TEST_F(FlattenTest, what_cannot_be_made_changes_nothing) {
  write(std::string(300'000, 'x'));
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 200'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(flatten(1), -EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(stays());
  // A rank that failed.
  std::unique_ptr<Flattening> flattening;
  ASSERT_EQ(Flattening::begin(path_, flattening), 0);
  EXPECT_EQ(flattening->end(false), 0);
  flattening.reset();
  EXPECT_TRUE(stays());
}

TEST_F(FlattenTest, lost_bytes_are_not_made_up) {
  {
    const auto file = open();
    put(*file, 0, "synced and lost");
    ASSERT_EQ(file->sync(), 0);
  }
  LoggedFile::close_idle();
  for (const auto& entry : testing::fs::directory_iterator(path_)) {
    if (entry.path().extension() == ".log") testing::fs::resize_file(entry.path(), 3);
  }
  EXPECT_EQ(flatten(2), -EIO);
  EXPECT_TRUE(is_container(AT_FDCWD, path_.c_str()));
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(FlattenTest, what_a_death_left_is_taken_away) {
  write("text");
  ASSERT_EQ(in_child([&] {
              std::unique_ptr<Flattening> flattening;
              if (Flattening::begin(path_, flattening) != 0) return 1;
              flattening.release();  // as after a kill
              return 0;
            }),
            0);
  EXPECT_EQ(names().size(), 2U);
  EXPECT_EQ(flatten(2), 0);
  EXPECT_EQ(bytes(), "text");
  EXPECT_EQ(names().size(), 1U);
}

}  // namespace
}  // namespace iotune::logstore
