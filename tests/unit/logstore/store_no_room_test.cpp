// A full disk, and a quota that is used up: what is said, what own reads see, and what is kept
// until there is room. pwrite(2) and close(2) are this file's own: no disk need be full.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "logstore/read/container_files.h"
#include "store_fixture.h"

namespace {
int g_refusal = 0;        // an errno: so every pwrite(2) answers
std::size_t g_small = 0;  // but for those of no more bytes
int g_late_refusal = 0;   // an errno: so every close(2) answers, as NFS's where the server refused
int g_closed = -1;        // what was closed last
}  // namespace

extern "C" ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  if (g_refusal != 0 && size > g_small) {
    errno = g_refusal;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, from, size, offset);
}

extern "C" int close(int fd) {
  g_closed = fd;
  const long result = syscall(SYS_close, fd);
  if (g_late_refusal == 0) return static_cast<int>(result);
  errno = g_late_refusal;
  return -1;
}

namespace iotune::logstore {
namespace {

class NoRoomTest : public testing::StoreTest, public ::testing::WithParamInterface<int> {
 protected:
  ~NoRoomTest() override {
    g_refusal = g_late_refusal = 0;
    g_small = 0;
  }
  std::string refusal() const { return "error " + std::to_string(GetParam()); }
};

TEST_P(NoRoomTest, own_reads_see_what_was_flushed_and_fail_for_the_rest_until_there_is_room) {
  const auto file = open();
  put(*file, 0, "flushed");
  ASSERT_EQ(file->flush(), 0);
  g_refusal = GetParam();
  EXPECT_EQ(put(*file, 7, "accepted"), 8);  // gathered: nobody knows yet
  EXPECT_EQ(file->flush(), -GetParam());
  EXPECT_EQ(file->sync(), -GetParam());
  EXPECT_EQ(text(*file, 7, 8), refusal());
  EXPECT_EQ(flushed_text(), "flushed");
  g_refusal = 0;
  EXPECT_EQ(text(*file), "flushedaccepted");
  EXPECT_EQ(file->sync(), 0);
  EXPECT_EQ(flushed_text(), "flushedaccepted");
  EXPECT_TRUE(said().empty());
}

// A limit of the file's size, or the last block of a disk: the log is full, the index is not.
TEST_P(NoRoomTest, what_the_log_has_is_in_the_index_when_its_end_is_refused) {
  auto file = open();
  const std::string piece(16384, 'x');
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(put(*file, i * std::ssize(piece), piece), std::ssize(piece));
  g_refusal = GetParam();
  g_small = 4096;
  EXPECT_EQ(file->flush(), -GetParam());
  file.reset();
  const auto container = Container::open(path_);
  ASSERT_TRUE(container);
  EXPECT_EQ(container->map().size(), 4 * std::ssize(piece));
}

TEST_P(NoRoomTest, with_a_view_that_was_there_only_what_has_no_room_cannot_be_read) {
  const auto file = open();
  put(*file, 0, "flushed");
  EXPECT_EQ(text(*file), "flushed");
  g_refusal = GetParam();
  EXPECT_EQ(put(*file, 7, "accepted"), 8);
  EXPECT_EQ(text(*file), "flushed") << "as far as it can be read";
  EXPECT_EQ(text(*file, 7, 8), refusal());
  EXPECT_EQ(text(*file, 0, 3), "flu");
  EXPECT_EQ(file->size(), 15);
  g_refusal = 0;
  EXPECT_EQ(text(*file), "flushedaccepted");
}

TEST_P(NoRoomTest, large_writes_are_refused_at_once_and_may_be_made_again) {
  const auto file = open();
  const std::string large(1 << 20, 'x');
  put(*file, 0, "small");
  g_refusal = GetParam();
  EXPECT_EQ(put(*file, 100, large), -GetParam());
  EXPECT_EQ(put(*file, 100, large), -GetParam());
  g_refusal = 0;
  EXPECT_EQ(put(*file, 5, "er"), 2);
  EXPECT_EQ(text(*file), "smaller");
  EXPECT_EQ(put(*file, 7, large), std::ssize(large));
  EXPECT_EQ(text(*file, 5, 6), "erxxxx");
  EXPECT_EQ(file->size(), std::ssize(large) + 7);
}

TEST_P(NoRoomTest, at_close_it_is_said_and_kept_for_the_next_chance) {
  auto file = open();
  put(*file, 0, "flushed");
  ASSERT_EQ(file->flush(), 0);
  g_refusal = GetParam();
  put(*file, 7, "accepted");
  file.reset();
  ASSERT_EQ(said().size(), 1U);
  EXPECT_NE(said()[0].find("could not be entered in its index"), std::string::npos) << said()[0];
  EXPECT_EQ(flushed_text(), "flushed");
  g_refusal = 0;
  file = open();
  EXPECT_EQ(text(*file), "flushedaccepted");
  file.reset();
  LoggedFile::close_idle();
  EXPECT_EQ(flushed_text(), "flushedaccepted");
  EXPECT_EQ(said().size(), 1U);
}

TEST_P(NoRoomTest, the_first_write_of_a_writer_fails_and_leaves_no_files) {
  const auto file = open();
  g_refusal = GetParam();
  EXPECT_EQ(put(*file, 0, "x"), -GetParam());
  EXPECT_EQ(files_ending(".log") + files_ending(".index"), 0U);
  EXPECT_EQ(text(*file), "");
  g_refusal = 0;
  EXPECT_EQ(put(*file, 0, "x"), 1);
  EXPECT_EQ(text(*file), "x");
}

TEST_P(NoRoomTest, what_is_refused_late_is_for_good_and_every_later_change_fails) {
  StoreOptions often = options();
  often.flush_interval_ns = 0;
  std::shared_ptr<LoggedFile> file;
  ASSERT_EQ(LoggedFile::open(path_, often, file), 0);
  EXPECT_EQ(put(*file, 0, "flushed"), 7);
  g_late_refusal = GetParam();
  EXPECT_EQ(put(*file, 7, "refused"), -GetParam()) << "the flush that was due tells of it";
  g_late_refusal = 0;
  EXPECT_EQ(put(*file, 7, "later"), -GetParam());
  EXPECT_EQ(file->truncate(3), -GetParam());
  EXPECT_EQ(file->punch(0, 3), -GetParam());
  EXPECT_EQ(file->sync(), -GetParam());
  EXPECT_EQ(flushed_text(), "flushed");
}

TEST_P(NoRoomTest, what_a_flush_was_refused_late_fails_the_writes_that_are_due_no_flush) {
  const auto file = open();
  put(*file, 0, "flushed");
  ASSERT_EQ(file->flush(), 0);
  EXPECT_EQ(put(*file, 7, "accepted"), 8);
  g_late_refusal = GetParam();
  EXPECT_EQ(file->flush(), -GetParam());
  g_late_refusal = 0;
  EXPECT_EQ(put(*file, 15, "later"), -GetParam());
  EXPECT_EQ(file->truncate(3), -GetParam());
  EXPECT_EQ(flushed_text(), "flushed");
}

// A few open files are allowed: no number from 512 on is free.
class FewFilesTest : public ::testing::Test {
 protected:
  FewFilesTest() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    struct rlimit few = before_;
    few.rlim_cur = 64;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  struct rlimit before_ {};
};

TEST_F(FewFilesTest, what_is_passed_on_takes_no_low_number) {
  const Descriptor file(::open("/tmp", O_TMPFILE | O_RDWR, 0600));
  ASSERT_TRUE(file);
  g_closed = -1;
  EXPECT_EQ(pass_on(file.get()), 0);
  EXPECT_GE(g_closed, 32) << "the program's own open(2) may be about to get a lower one";
  std::vector<Descriptor> all;
  for (int one = 0; (one = fcntl(file.get(), F_DUPFD_CLOEXEC, 32)) >= 0;) all.emplace_back(one);
  g_closed = -1;
  EXPECT_EQ(pass_on(file.get()), 0);
  EXPECT_EQ(g_closed, -1) << "synced in place";
}

INSTANTIATE_TEST_SUITE_P(Reasons, NoRoomTest, ::testing::Values(ENOSPC, EDQUOT, EFBIG));

}  // namespace
}  // namespace iotune::logstore
