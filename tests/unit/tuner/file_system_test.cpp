#include "tuner/file_system.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "tmpfs"));
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "beegfs"));
  EXPECT_TRUE(locks_hold_between_nodes("/x/a", "gpfs"));
  // Nothing is mounted there that says it has flock.
  EXPECT_FALSE(locks_hold_between_nodes("/dev/shm/a", "lustre"));
}

}  // namespace
}  // namespace iotune::tuner
