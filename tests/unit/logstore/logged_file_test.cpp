// The file that a program sees: its own writes, those of others, its size and its times.
#include "logstore/store/logged_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "store_fixture.h"

namespace iotune::logstore {
namespace {

using testing::StoreTest;
namespace fs = std::filesystem;

class LoggedFileTest : public StoreTest {
 protected:
  // Another process writes this, and ends.
  void other_writes(std::int64_t offset, const std::string& bytes) const {
    EXPECT_EQ(in_child([&] {
                const auto file = open();
                return put(*file, offset, bytes) == static_cast<std::int64_t>(bytes.size()) &&
                               file->flush() == 0
                           ? 0
                           : 1;
              }),
              0);
  }
  struct stat handle() const {
    struct stat about {};
    EXPECT_EQ(stat((path_ + "/handle").c_str(), &about), 0);
    return about;
  }
};

TEST_F(LoggedFileTest, own_writes_are_seen_at_once_and_others_see_them_when_flushed) {
  const auto file = open();
  EXPECT_EQ(file->size(), 0);
  EXPECT_EQ(put(*file, 3, "one"), 3);
  EXPECT_EQ(file->size(), 6);
  EXPECT_EQ(flushed_text(), "");
  EXPECT_EQ(text(*file), "...one");
  EXPECT_EQ(put(*file, 4, "two"), 3);
  EXPECT_EQ(text(*file), "...otwo");
  EXPECT_EQ(text(*file, 5, 1), "w");
  EXPECT_EQ(text(*file, 7), "");
  EXPECT_EQ(file->flush(), 0);
  EXPECT_EQ(flushed_text(), "...otwo");
  EXPECT_EQ(file->read(-1, nullptr, 1), -EINVAL);
  EXPECT_EQ(file->write(-1, "x", 1), -EINVAL);
  EXPECT_EQ(file->write(std::int64_t{1} << 60, "x", 1), -EFBIG);
}

TEST_F(LoggedFileTest, only_a_change_makes_a_writer) {
  const auto file = open();
  EXPECT_EQ(text(*file), "");
  EXPECT_EQ(file->flush(), 0);
  EXPECT_EQ(file->sync(), 0);
  EXPECT_EQ(files_ending(".log"), 0U);
  put(*file, 0, "x");
  EXPECT_EQ(files_ending(".log"), 1U);
}

TEST_F(LoggedFileTest, truncations_and_holes_are_as_with_an_ordinary_file) {
  const auto file = open();
  put(*file, 0, "abcdefgh");
  EXPECT_EQ(file->truncate(5), 0);
  EXPECT_EQ(text(*file), "abcde");
  EXPECT_EQ(file->truncate(8), 0);
  EXPECT_EQ(text(*file), "abcde...");
  EXPECT_EQ(file->punch(1, 2), 0);
  EXPECT_EQ(text(*file), "a..de...");
  put(*file, 2, "X");
  EXPECT_EQ(file->punch(6, 100), 0);
  EXPECT_EQ(file->size(), 8);
  EXPECT_EQ(text(*file), "a.Xde...");
  EXPECT_EQ(file->punch(0, 0), -EINVAL);
  EXPECT_EQ(file->truncate(-1), -EINVAL);
  file->flush();
  EXPECT_EQ(flushed_text(), "a.Xde...");
  EXPECT_EQ(file->next_data(0), 0);
  EXPECT_EQ(file->next_hole(0), 1);
  EXPECT_EQ(file->next_data(1), 2);
  EXPECT_EQ(file->next_hole(2), 5);
  EXPECT_EQ(file->next_data(5), -ENXIO);
  EXPECT_EQ(file->next_hole(7), 7);
  EXPECT_EQ(file->next_hole(8), -ENXIO);
  EXPECT_EQ(file->truncate(3), 0);
  EXPECT_EQ(file->next_hole(2), 3);
}

TEST_F(LoggedFileTest, others_writes_are_seen_after_a_refresh) {
  const auto file = open();
  EXPECT_EQ(text(*file), "");
  put(*file, 0, "mine");
  other_writes(2, "theirs");
  EXPECT_EQ(text(*file), "mine");
  EXPECT_EQ(file->size(), 4);
  EXPECT_EQ(file->refresh(), 0);
  EXPECT_EQ(file->size(), 8);
  EXPECT_EQ(text(*file), "mitheirs");
  put(*file, 3, "__");
  other_writes(8, "!");
  EXPECT_EQ(file->refresh(), 0);
  EXPECT_EQ(text(*file), "mit__irs!");
}

TEST_F(LoggedFileTest, a_writer_that_exists_already_and_goes_on_is_seen) {
  const auto file = open();
  int order[2];
  int done[2];
  ASSERT_EQ(pipe(order), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork_safely();
  if (child == 0) {
    close(order[1]);
    const auto other = open();
    char c = 0;
    for (std::int64_t at = 0; read(order[0], &c, 1) == 1; ++at) {
      put(*other, at, std::string(1, c));
      other->flush();
      if (write(done[1], &c, 1) != 1) break;
    }
    _exit(0);
  }
  close(order[0]);
  std::string wanted;
  for (char c = 'a'; c < 'h'; ++c) {
    char answer = 0;
    ASSERT_EQ(write(order[1], &c, 1), 1);
    ASSERT_EQ(read(done[0], &answer, 1), 1);
    wanted += c;
    file->refresh();
    EXPECT_EQ(text(*file), wanted);
  }
  close(order[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(LoggedFileTest, a_size_knows_who_truncated_last) {
  const auto file = open();
  put(*file, 0, "0123456789");
  file->flush();
  other_writes(12, "xy");
  file->truncate(4);
  EXPECT_EQ(file->size(), 4);
  other_writes(6, "z");
  file->refresh();
  EXPECT_EQ(file->size(), 7);
  EXPECT_EQ(text(*file), "0123..z");
}

TEST_F(LoggedFileTest, the_same_container_is_one_file_and_one_writer) {
  const auto a = open();
  const auto b = open();
  EXPECT_EQ(a, b);
  put(*a, 0, "a");
  EXPECT_EQ(text(*b), "a");
  fs::create_symlink(path_, root_ / "link");
  EXPECT_EQ(open((root_ / "link").string()), a);
}

TEST_F(LoggedFileTest, opening_and_closing_again_and_again_leaves_one_writer) {
  for (int i = 0; i < 20; ++i) {
    const auto file = open();
    std::int64_t at = -1;
    EXPECT_EQ(file->append("x", 1, at), 1);
    EXPECT_EQ(at, i);
  }
  EXPECT_EQ(files_ending(".log"), 1U);
  EXPECT_EQ(flushed_text(), std::string(20, 'x'));
  LoggedFile::close_idle();
  put(*open(), 0, "y");
  EXPECT_EQ(files_ending(".log"), 2U);
}

TEST_F(LoggedFileTest, many_idle_files_are_not_all_kept_open) {
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 60; ++i) {
    const std::string path = (root_ / ("many" + std::to_string(i))).string();
    ASSERT_EQ(LoggedFile::make(path, 0600), 0);
    put(*open(path), 0, "bytes");
  }
  EXPECT_LE(descriptors() - before, 16 * 4);
  EXPECT_EQ(text(*open((root_ / "many0").string())), "bytes");
  LoggedFile::close_idle();
  EXPECT_EQ(descriptors(), before);
  // Nor are the logs of others, of a file that is.
  other_writes(0, "theirs");
  const auto closed = descriptors();
  EXPECT_EQ(text(*open()), "theirs");
  EXPECT_LE(descriptors() - closed, 2);
}

TEST_F(LoggedFileTest, a_log_that_was_compacted_while_the_file_was_idle_is_not_written_to) {
  put(*open(), 0, "old");
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    // As a compaction leaves it: the bytes in files of another name.
    for (const char* ending : {".log", ".index"}) {
      if (name.ends_with(ending)) {
        fs::copy_file(entry.path(), fs::path(path_) / (std::string("compact") + ending));
        fs::remove(entry.path());
      }
    }
  }
  const auto file = open();
  EXPECT_EQ(text(*file), "old");
  put(*file, 1, "N");
  EXPECT_EQ(text(*file), "oNd");
  file->flush();
  EXPECT_EQ(flushed_text(), "oNd");
  EXPECT_EQ(files_ending(".log"), 2U);
}

TEST_F(LoggedFileTest, a_log_that_is_compacted_while_it_is_read_is_looked_for_again) {
  other_writes(0, "bytes");
  const auto file = open();
  EXPECT_EQ(file->size(), 5);
  EXPECT_EQ(file->next_hole(0), 5);  // merged, and no log is open yet
  for (const auto& entry : fs::directory_iterator(path_)) {
    for (const char* ending : {".log", ".index"}) {
      if (entry.path().string().ends_with(ending)) {
        fs::rename(entry.path(), fs::path(path_) / (std::string("compact") + ending));
      }
    }
  }
  EXPECT_EQ(text(*file), "bytes");
}

TEST_F(LoggedFileTest, who_writes_holds_a_lock_that_compaction_sees) {
  const int lock = ::open((path_ + "/container").c_str(), O_RDWR);
  const auto is_free = [&] {
    const bool got = flock(lock, LOCK_EX | LOCK_NB) == 0;
    flock(lock, LOCK_UN);
    return got;
  };
  {
    const auto file = open();
    EXPECT_EQ(text(*file), "");
    EXPECT_TRUE(is_free());
    put(*file, 0, "x");
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  const auto again = open();
  put(*again, 0, "x");
  EXPECT_FALSE(is_free());
  close(lock);
}

TEST_F(LoggedFileTest, the_interval_flushes_with_the_next_write) {
  StoreOptions often = options();
  often.flush_interval_ns = 0;
  std::shared_ptr<LoggedFile> file;
  ASSERT_EQ(LoggedFile::open(path_, often, file), 0);
  put(*file, 0, "a");
  EXPECT_EQ(flushed_text(), "a");
}

TEST_F(LoggedFileTest, after_at_exit_every_write_is_flushed) {
  EXPECT_EQ(in_child([&] {
              const auto file = open();
              put(*file, 0, "a");
              LoggedFile::at_exit();
              if (flushed_text() != "a") return 1;
              put(*file, 1, "b");
              return flushed_text() == "ab" ? 0 : 2;
            }),
            0);
}

TEST_F(LoggedFileTest, missing_bytes_alone_are_an_error_and_are_said_once) {
  EXPECT_EQ(in_child([&] {
              const auto file = open();
              put(*file, 0, "0123");
              put(*file, 10, "4567");
              return file->sync() == 0 ? 0 : 1;
            }),
            0);
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (entry.path().string().ends_with(".log")) fs::resize_file(entry.path(), 6);
  }
  const auto file = open();
  EXPECT_EQ(file->size(), 14);
  EXPECT_EQ(text(*file), "0123......45");
  EXPECT_EQ(text(*file, 12), "error " + std::to_string(EIO));
  EXPECT_EQ(text(*file, 4, 3), "...");
  ASSERT_EQ(said().size(), 1U);
  EXPECT_NE(said()[0].find("2 bytes were synced and are lost"), std::string::npos) << said()[0];
  put(*file, 11, "new");
  EXPECT_EQ(text(*file), "0123......4new");
}

TEST_F(LoggedFileTest, the_status_is_that_of_the_handle) {
  const auto file = open();
  put(*file, 0, std::string(100'000, 'x'));
  ASSERT_EQ(chmod((path_ + "/handle").c_str(), 0640), 0);
  struct stat about {};
  ASSERT_EQ(file->status(about), 0);
  EXPECT_EQ(about.st_mode, static_cast<mode_t>(S_IFREG | 0640));
  EXPECT_EQ(about.st_ino, handle().st_ino);
  EXPECT_EQ(about.st_size, 100'000);
  EXPECT_GE(about.st_blocks, 100'000 / 512);
  EXPECT_EQ(about.st_nlink, 1U);
  fs::remove(path_ + "/handle");
  ASSERT_EQ(file->status(about), 0);  // as of a container that has none
  EXPECT_TRUE(S_ISREG(about.st_mode));
}

TEST_F(LoggedFileTest, a_flush_after_a_write_sets_the_time_of_the_handle) {
  const timespec old[2] = {{1000, 0}, {2000, 5}};
  const auto file = open();
  ASSERT_EQ(file->set_times(old), 0);
  EXPECT_EQ(handle().st_mtim.tv_sec, 2000);
  file->flush();
  EXPECT_EQ(handle().st_mtim.tv_sec, 2000);
  put(*file, 0, "x");
  file->flush();
  EXPECT_GT(handle().st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(handle().st_atim.tv_sec, 1000);
  // What the program sets after its last write stays, whichever way it does.
  put(*file, 0, "y");
  ASSERT_EQ(file->set_times(old), 0);
  file->sync();
  EXPECT_EQ(handle().st_mtim.tv_sec, 2000);
  put(*file, 0, "z");
  const timespec other[2] = {{1000, 0}, {3000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (path_ + "/handle").c_str(), other, 0), 0);
  file->flush();
  EXPECT_EQ(handle().st_mtim.tv_sec, 3000);
  put(*file, 0, "w");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(file->status(before), 0);
  EXPECT_GT(before.st_mtim.tv_sec, 1'600'000'000);
  file->flush();
  EXPECT_GT(handle().st_mtim.tv_sec, 1'600'000'000);
  ASSERT_EQ(file->status(after), 0);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  // Others were later.
  put(*file, 0, "v");
  const timespec later[2] = {{0, UTIME_OMIT}, {4'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (path_ + "/handle").c_str(), later, 0), 0);
  file->flush();
  EXPECT_EQ(handle().st_mtim.tv_sec, 4'000'000'000);
}

TEST_F(LoggedFileTest, an_old_time_that_was_set_before_the_write_does_not_stay) {
  const timespec old[2] = {{1000, 0}, {2000, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, (path_ + "/handle").c_str(), old, 0), 0);
  put(*open(), 0, "x");
  EXPECT_GT(handle().st_mtim.tv_sec, 1'600'000'000);
}

TEST_F(LoggedFileTest, alternating_reads_and_writes_see_each_other) {
  const auto file = open();
  other_writes(0, std::string(4000, 'o'));
  std::string model(4000, 'o');
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::size_t at = i * 7919 % 3990;
    put(*file, static_cast<std::int64_t>(at), "w" + std::to_string(i % 10));
    model.replace(at, 2, "w" + std::to_string(i % 10));
    ASSERT_EQ(text(*file, static_cast<std::int64_t>(at / 2), 60), model.substr(at / 2, 60));
  }
  EXPECT_EQ(text(*file, 0, 5000), model);
}

TEST_F(LoggedFileTest, an_overlay_that_grows_too_large_is_merged) {
  const auto file = open();
  EXPECT_EQ(text(*file), "");
  std::vector<char> model(300'000 * 2, '\0');
  for (std::size_t i = 0; i < 150'000; ++i) {
    const std::size_t at = i * 100'003 % 300'000 * 2;
    model[at] = 'x';
    put(*file, static_cast<std::int64_t>(at), "x");
  }
  std::vector<char> found(model.size() + 10, '?');
  const std::int64_t size = file->read(0, found.data(), found.size());
  ASSERT_EQ(size, file->size());
  found.resize(static_cast<std::size_t>(size));
  model.resize(found.size());
  EXPECT_EQ(found, model);
}

}  // namespace
}  // namespace iotune::logstore
