// The file that a program sees, before and after compactions: at close of many writers, while it is
// held and idle, and by somebody else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "logstore/compact/compaction.h"
#include "logstore/read/container.h"
#include "logstore/store/logged_file.h"

namespace iotune::logstore {
namespace {

namespace fs = std::filesystem;

class StoreCompactionTest : public ::testing::Test {
 protected:
  StoreCompactionTest() {
    std::string made = (fs::temp_directory_path() / "store.XXXXXX").string();
    root_ = mkdtemp(made.data());
    path_ = root_ / "file";
    EXPECT_EQ(LoggedFile::make(path_, 0644), 0);
  }
  ~StoreCompactionTest() override {
    LoggedFile::close_idle();
    fs::remove_all(root_);
  }

  std::shared_ptr<LoggedFile> open() const {
    std::shared_ptr<LoggedFile> file;
    EXPECT_EQ(LoggedFile::open(path_, {}, file), 0);
    return file;
  }
  // A process that opens it, writes `text` to `offset` and ends.
  void write_in_child(std::int64_t offset, const std::string& text) const {
    LoggedFile::before_fork();
    const pid_t child = fork();
    LoggedFile::after_fork(child == 0);
    if (child == 0) {
      {
        auto file = open();
        if (file->write(offset, text.data(), text.size()) != std::ssize(text)) _exit(1);
        // The parent's may be open here, too, and then this is no close.
        if (file->flush() != 0) _exit(2);
      }
      LoggedFile::close_idle();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  template <class Work>
  static int in_child(Work&& work) {
    LoggedFile::before_fork();
    const pid_t child = fork();
    LoggedFile::after_fork(child == 0);
    if (child == 0) _exit(work());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string content(LoggedFile& file) {
    EXPECT_EQ(file.refresh(), 0);
    std::string all(500, '?');
    const std::int64_t size = file.read(0, all.data(), all.size());
    EXPECT_GE(size, 0);
    all.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return all;
  }
  std::uint64_t generation() const { return Container::open(path_)->compaction().generation; }

  fs::path root_, path_;
};

TEST_F(StoreCompactionTest, many_indexes_that_nobody_merged_are_merged_by_the_first_who_reads) {
  const auto indexes = [&] {
    return std::count_if(fs::directory_iterator(path_), {}, [](const fs::directory_entry& one) {
      return one.path().extension() == ".index" && one.path().filename() != "merged.index";
    });
  };
  StoreOptions keeps;
  keeps.at_close = AtClose::kKeep;
  std::string all;
  for (int i = 0; i < 20; ++i) all += std::string(10, static_cast<char>('a' + i));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] {
                std::shared_ptr<LoggedFile> file;
                if (LoggedFile::open(path_, keeps, file) != 0) return 1;
                const std::string text = all.substr(10 * static_cast<std::size_t>(i), 10);
                return file->write(10 * i, text.data(), 10) == 10 ? file->flush() : 2;
              }),
              0);
  }
  EXPECT_EQ(indexes(), 20);
  EXPECT_EQ(in_child([&] {
              std::shared_ptr<LoggedFile> file;
              return LoggedFile::open(path_, keeps, file) == 0 && content(*file) == all ? 0 : 1;
            }),
            0);
  EXPECT_EQ(indexes(), 20) << "who keeps them keeps them";
  {
    std::shared_ptr<LoggedFile> writer;
    ASSERT_EQ(LoggedFile::open(path_, keeps, writer), 0);
    ASSERT_EQ(writer->write(0, "a", 1), 1);
    ASSERT_EQ(writer->flush(), 0);
    EXPECT_EQ(in_child([&] { return content(*open()) == all ? 0 : 1; }), 0);
    EXPECT_EQ(indexes(), 21) << "somebody writes";
  }
  LoggedFile::close_idle();
  // Many at once, and each of them reads all of it.
  std::vector<pid_t> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(fork());
    if (readers.back() == 0) _exit(content(*open()) == all ? 0 : 1);
  }
  for (const pid_t reader : readers) {
    int status = 0;
    ASSERT_EQ(waitpid(reader, &status, 0), reader);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(indexes(), 0);
  EXPECT_EQ(generation(), 1U);
  EXPECT_EQ(content(*open()), all);
}

TEST_F(StoreCompactionTest, the_last_of_many_that_close_it_compacts) {
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string text(10, static_cast<char>('a' + i));
    write_in_child(10 * i, text);
    all += text;
  }
  EXPECT_GT(generation(), 0U);
  auto file = open();
  EXPECT_EQ(content(*file), all);
  EXPECT_EQ(file->size(), 200);
  struct stat about {};
  EXPECT_EQ(file->status(about), 0);
  EXPECT_EQ(about.st_size, 200);
}

TEST_F(StoreCompactionTest, who_reads_it_goes_on_after_anothers_compaction) {
  write_in_child(0, "aaaa");
  write_in_child(0, "bbbb");
  write_in_child(2, "cc");
  auto file = open();
  EXPECT_EQ(content(*file), "bbcc");
  CompactOptions options;
  options.least_live = 2;
  ASSERT_TRUE(compact(path_, options));
  EXPECT_EQ(content(*file), "bbcc");
  write_in_child(1, "D");
  EXPECT_EQ(content(*file), "bDcc");
}

TEST_F(StoreCompactionTest, an_idle_writer_begins_anew_after_a_compaction) {
  for (const bool keeps : {false, true}) {
    CompactOptions options;
    options.keeps_indexes = keeps;
    {
      auto file = open();
      ASSERT_EQ(file->write(0, "abcd", 4), 4);
      ASSERT_EQ(file->write(4, keeps ? "K" : "k", 1), 1);
    }
    const auto done = compact(path_, options);
    ASSERT_TRUE(done) << done.error().text();
    {
      auto file = open();
      ASSERT_EQ(file->write(1, "XY", 2), 2);
      EXPECT_EQ(content(*file), keeps ? "aXYdK" : "aXYdk");
    }
    LoggedFile::close_idle();
    const auto container = Container::open(path_);
    std::string all(5, '?');
    ASSERT_TRUE(container->read(0, std::as_writable_bytes(std::span(all))));
    EXPECT_EQ(all, keeps ? "aXYdK" : "aXYdk");
    EXPECT_FALSE(container->compaction().has_grown);
  }
}

TEST_F(StoreCompactionTest, is_refused_while_it_is_open_for_writing) {
  auto file = open();
  ASSERT_EQ(file->write(0, "abcd", 4), 4);
  const auto refused = compact(path_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("is in use"), std::string::npos);
  file.reset();
  LoggedFile::close_idle();
  EXPECT_TRUE(compact(path_));
}

TEST_F(StoreCompactionTest, a_damaged_merged_index_is_an_error_and_no_zeros) {
  write_in_child(0, "aaaa");
  ASSERT_TRUE(compact(path_));
  fs::resize_file(path_ / "merged.index", 40);
  auto file = open();
  char some[4];
  EXPECT_EQ(file->read(0, some, 4), -EIO);
}

}  // namespace
}  // namespace iotune::logstore
