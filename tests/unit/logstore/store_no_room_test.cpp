// A full disk, and a quota that is used up: what is said, what own reads see, and what is kept
// until there is room. pwrite(2) is this file's own: no disk need be full.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "store_fixture.h"

namespace {
int g_refusal = 0;  // an errno: so every pwrite(2) answers
}

extern "C" ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  if (g_refusal != 0) {
    errno = g_refusal;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, from, size, offset);
}

namespace iotune::logstore {
namespace {

class NoRoomTest : public testing::StoreTest, public ::testing::WithParamInterface<int> {
 protected:
  ~NoRoomTest() override { g_refusal = 0; }
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
  EXPECT_NE(said()[0].find("could not be told in its index"), std::string::npos) << said()[0];
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

INSTANTIATE_TEST_SUITE_P(Reasons, NoRoomTest, ::testing::Values(ENOSPC, EDQUOT));

}  // namespace
}  // namespace iotune::logstore
