// A table in shared memory holds for as long as somebody has it, and no longer.
#include "prefetch/budget/shared_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace iotune::prefetch {
namespace {

constexpr std::size_t kBytes = 8192;

bool always(const void* /*memory*/) noexcept {
  return true;
}
bool never(const void* /*memory*/) noexcept {
  return false;
}

// Processes of its own map it: a mapping is never given up.
class SharedTableTest : public testing::Test {
 protected:
  SharedTableTest() {
    std::string pattern = "/dev/shm/iotune-table-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/table";
  }
  ~SharedTableTest() override { std::filesystem::remove_all(folder_); }

  unsigned char* mapped(bool (*is_spent)(const void*) noexcept) const {
    return static_cast<unsigned char*>(
        map_shared_table(path_.c_str(), kBytes, TableStorage::kMemoryAlone, is_spent).memory);
  }

  // What a new process finds in the table's last byte, where it leaves another value; -1: no table.
  int left(unsigned char value, bool (*is_spent)(const void*) noexcept = always) const {
    const pid_t child = fork();
    if (child == 0) {
      unsigned char* const table = mapped(is_spent);
      if (table == nullptr) _exit(255);
      const int had = table[kBytes - 1];
      table[kBytes - 1] = value;
      _exit(had);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
  }

  // A process that has the table, and tells its first child's number.
  pid_t holder(pid_t& its_child) const {
    int reported[2];
    EXPECT_EQ(pipe(reported), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool good = mapped(always) != nullptr;
      const pid_t heir = good ? fork() : -1;
      if (heir == 0) {
        for (;;) pause();
      }
      if (write(reported[1], &heir, sizeof heir) != sizeof heir) _exit(1);
      for (;;) pause();
    }
    EXPECT_EQ(read(reported[0], &its_child, sizeof its_child), ssize_t{sizeof its_child});
    EXPECT_GT(its_child, 0);
    close(reported[0]);
    close(reported[1]);
    return child;
  }

  std::string folder_, path_;
};

TEST_F(SharedTableTest, WhatTheDeadLeftIsGone) {
  EXPECT_EQ(left(1), 0);
  EXPECT_EQ(left(2), 0);
  // What was learnt stays.
  EXPECT_EQ(left(3, never), 2);
  EXPECT_EQ(left(4, never), 3);
  EXPECT_EQ(left(5), 0);
}

TEST_F(SharedTableTest, WhatTheLivingHaveStays) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // to see the heir's end
  pid_t heir = -1;
  const pid_t first = holder(heir);
  EXPECT_EQ(left(7), 0);
  EXPECT_EQ(left(8), 7);
  kill(first, SIGKILL);
  ASSERT_EQ(waitpid(first, nullptr, 0), first);
  // The child of a fork has it, too.
  EXPECT_EQ(left(9), 8);
  kill(heir, SIGKILL);
  ASSERT_EQ(waitpid(heir, nullptr, 0), heir);
  EXPECT_EQ(left(1), 0);
}

}  // namespace
}  // namespace iotune::prefetch
