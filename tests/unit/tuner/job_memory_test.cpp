#include "tuner/decision/job_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace iotune::tuner {
namespace {

class JobMemory : public ::testing::Test {
 protected:
  JobMemory() { std::filesystem::create_directories(root_); }
  ~JobMemory() override { std::filesystem::remove_all(root_); }
  void limit(const std::string& group, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(root_ + group);
    std::ofstream(root_ + group + "/" + file) << text << '\n';
  }
  std::uint64_t of(const char* groups) { return group_limit_bytes(groups, root_.c_str()); }
  // Of this process: tests run at the same time.
  std::string root_ = ::testing::TempDir() + "iotune-groups-" + std::to_string(getpid());
};

TEST_F(JobMemory, IsTheLeastOfAGroupAndOfThoseAboveIt) {
  limit("/slurm/job_7", "memory.max", "4294967296");
  limit("/slurm/job_7/step_0", "memory.max", "max");
  EXPECT_EQ(of("0::/slurm/job_7/step_0\n"), 4294967296u);
  limit("/slurm/job_7/step_0", "memory.max", "1073741824");
  EXPECT_EQ(of("0::/slurm/job_7/step_0\n"), 1073741824u);
  limit("", "memory.max", "4096");
  EXPECT_EQ(of("0::/slurm/job_7/step_0\n"), 4096u);
}

TEST_F(JobMemory, OfVersionOneToo) {
  limit("/memory/slurm/uid_1", "memory.limit_in_bytes", "2147483648");
  limit("/memory", "memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(of("5:cpu,cpuacct:/\n4:memory:/slurm/uid_1/job_9\n0::/\n"), 2147483648u);
  EXPECT_EQ(of("4:memory,blkio:/\n"), 9223372036854771712u);
  // Another controller of the same beginning is not meant.
  EXPECT_EQ(of("4:memory2:/slurm/uid_1\n"), kNoLimit);
}

TEST_F(JobMemory, WithoutLimitsOrSenseThereIsNone) {
  for (const char* groups :
       {"", "0::/\n", "0::/nowhere/at/all", "no colons\n", "1:\n::\n", "0::"}) {
    EXPECT_EQ(of(groups), kNoLimit) << groups;
  }
  EXPECT_GT(job_limit_bytes(), 0u);
}

}  // namespace
}  // namespace iotune::tuner
