#include "tuner/file_system.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace iotune::tuner {
namespace {

constexpr const char* kMounts =
    "/dev/sda1 / ext4 rw,relatime 0 0\n"
    "10.0.0.1@tcp:/work /scratch lustre rw,flock,lazystatfs 0 0\n"
    "10.0.0.1@tcp:/work /scratch/local lustre rw,localflock 0 0\n"
    "10.0.0.2@tcp:/a /with\\040blank lustre rw,noflock 0 0\n"
    "none /scratch/over tmpfs rw 0 0\n"
    "10.0.0.3@tcp:/b /scratch/over lustre rw,flock 0 0\n";

std::string of(const char* path) {
  const MountOptions options = mount_options(kMounts, path);
  return {options.text, options.bytes};
}

TEST(MountOptions, AreThoseOfTheDeepestMountAndOfTheLastOnTop) {
  EXPECT_EQ(of("/etc/passwd"), "rw,relatime");
  EXPECT_EQ(of("/scratch/a.h5"), "rw,flock,lazystatfs");
  EXPECT_EQ(of("/scratchy/a.h5"), "rw,relatime");
  EXPECT_EQ(of("/scratch/local/a.h5"), "rw,localflock");
  EXPECT_EQ(of("/with blank/a.h5"), "rw,noflock");
  EXPECT_EQ(of("/scratch/over/a.h5"), "rw,flock");
  EXPECT_EQ(mount_options("", "/a").bytes, 0u);
  EXPECT_EQ(mount_options("garbage", "/a").bytes, 0u);
  EXPECT_EQ(mount_options("a b\nc /x d\n", "/x/y").bytes, 0u);
}

TEST(MountOptions, AnOptionIsAWholeWord) {
  const MountOptions options = mount_options(kMounts, "/scratch/local/a.h5");
  EXPECT_TRUE(options.has("localflock"));
  EXPECT_FALSE(options.has("flock"));
  EXPECT_FALSE(options.has("local"));
  EXPECT_TRUE(options.has("rw"));
}

TEST(FileSystem, OfADirectoryThatIsThere) {
  EXPECT_STREQ(file_system_of("/dev/shm/not-there"), "tmpfs");
  EXPECT_STREQ(file_system_of("/no/such/directory/file"), "unknown");
  EXPECT_STREQ(file_system_of("not-there"), "unknown");
  EXPECT_TRUE(locks_hold_between_nodes("/dev/shm/a", "tmpfs"));
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "fuse"));
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "nfs"));
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "beegfs"));
  EXPECT_TRUE(locks_hold_between_nodes("/x/a", "gpfs"));
  // Nothing is mounted there that says it has flock.
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "lustre"));
}

TEST(FileSystem, TheOneRememberedIsOfThatDirectoryAlone) {
  const std::string root = file_system_of("/a");
  ASSERT_NE(root, "tmpfs");
  for (int i = 0; i < 2; ++i) {
    EXPECT_STREQ(file_system_of("/dev/shm/a"), "tmpfs");
    EXPECT_STREQ(file_system_of("/dev/shm/b"), "tmpfs");
    EXPECT_STREQ(file_system_of("/dev/shm/none/b"), "unknown");
    EXPECT_EQ(file_system_of("/dev"), root);
    EXPECT_EQ(file_system_of("/a"), root);
  }
}

TEST(FileSystem, OfARelativePathItIsAskedAnew) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path("/dev/shm");
  const std::string there = file_system_of("./a");
  std::filesystem::current_path("/");
  const std::string root = file_system_of("./a");
  std::filesystem::current_path(before);
  EXPECT_EQ(there, "tmpfs");
  EXPECT_EQ(root, file_system_of("/a"));
}

TEST(FileSystem, AnyThreadMayAsk) {
  const std::string root = file_system_of("/a");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 2000; ++k) {
        const bool memory = (i + k) % 2 == 0;
        const std::string found = file_system_of(memory ? "/dev/shm/a" : "/a");
        if (found != (memory ? std::string("tmpfs") : root)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace iotune::tuner
