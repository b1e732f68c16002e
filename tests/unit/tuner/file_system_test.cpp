#include "tuner/posix/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tuner/posix/real_directory.h"

namespace iotune::tuner {
namespace {

constexpr const char* kMounts =
    "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "40 24 0:52 / /scratch rw,nosuid shared:2 master:7 - lustre 10.0.0.1@tcp:/work rw,flock\n"
    "41 24 0:53 / /with\\040blank rw - lustre 10.0.0.2@tcp:/a rw,localflock\n"
    "42 24 0:54 / /broken rw,flock\n"
    "43 24 0:5 /x /y rw - lustre";

std::string of(unsigned major, unsigned minor) {
  const MountOptions options = mount_options(kMounts, major, minor);
  return {options.text, options.bytes};
}

TEST(MountOptions, AreThoseOfTheDevice) {
  EXPECT_EQ(of(8, 1), "rw,errors=remount-ro");
  EXPECT_EQ(of(0, 52), "rw,flock");
  EXPECT_EQ(of(0, 53), "rw,localflock");
  EXPECT_EQ(of(0, 54), "");
  EXPECT_EQ(of(0, 5), "");
  EXPECT_EQ(of(0, 2), "");
  EXPECT_EQ(mount_options("", 8, 1).bytes, 0u);
  EXPECT_EQ(mount_options("garbage", 8, 1).bytes, 0u);
  EXPECT_EQ(mount_options("a b\nc /x d\n8:1 - \n 8:1 8:1 8:1 - ", 8, 1).bytes, 0u);
}

TEST(MountOptions, AnOptionIsAWholeWord) {
  const MountOptions options = mount_options(kMounts, 0, 53);
  EXPECT_TRUE(options.has("localflock"));
  EXPECT_FALSE(options.has("flock"));
  EXPECT_FALSE(options.has("local"));
  EXPECT_TRUE(options.has("rw"));
}

TEST(MountOptions, TheKernelsTextTellsThemOfThisDirectory) {
  std::ifstream in("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  struct stat status {};
  ASSERT_EQ(stat("/dev/shm", &status), 0);
  const MountOptions options =
      mount_options(text.c_str(), major(status.st_dev), minor(status.st_dev));
  EXPECT_TRUE(options.has("rw")) << std::string(options.text, options.bytes);
}

// A folder of this file system with links out of it, to memory.
class Links : public testing::Test {
 protected:
  Links() {
    std::string name = (std::filesystem::current_path() / "links-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const std::string memory = "/dev/shm/iotune-links-" + std::to_string(getpid());
    memory_ = memory;
    std::filesystem::create_directory(memory_);
    std::ofstream(memory_ / "there") << "x";
  }
  ~Links() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(memory_);
  }
  std::string link(const char* name, const std::filesystem::path& target) {
    std::filesystem::create_symlink(target, folder_ / name);
    return (folder_ / name).string();
  }
  static std::string real(const std::string& file) {
    ShortText<4096> directory;
    return real_directory_of(file.c_str(), directory) ? directory.c_str() : "";
  }
  std::filesystem::path folder_, memory_;
};

TEST_F(Links, AFileThatIsALinkIsWhereItPoints) {
  const std::string here = file_system_of((folder_ / "a").c_str());
  ASSERT_NE(here, "tmpfs");
  EXPECT_STREQ(file_system_of(link("file", memory_ / "there").c_str()), "tmpfs");
  EXPECT_STREQ(file_system_of(link("dangling", memory_ / "not-there").c_str()), "tmpfs");
  EXPECT_STREQ(file_system_of(link("link-of-link", folder_ / "file").c_str()), "tmpfs");
  EXPECT_STREQ(file_system_of(link("relative", "dangling").c_str()), "tmpfs");
  EXPECT_STREQ(file_system_of(link("loop", "loop").c_str()), "unknown");
  const std::string directory = link("directory", memory_);
  EXPECT_STREQ(file_system_of((directory + "/b").c_str()), "tmpfs");
  EXPECT_EQ(file_system_of((folder_ / "a").c_str()), here);
}

TEST_F(Links, TheRealDirectoryHasNone) {
  EXPECT_EQ(real((folder_ / "a").string()), folder_.string());
  EXPECT_EQ(real(link("file", memory_ / "there")), memory_.string());
  EXPECT_EQ(real(link("directory", memory_) + "/a"), memory_.string());
  EXPECT_EQ(real((folder_ / "directory/../a").string()), "/dev/shm");
  EXPECT_EQ(real(link("relative", "directory/../b")), "/dev/shm");
  EXPECT_EQ(real("/a"), "/");
  EXPECT_EQ(real("a"), "");
  EXPECT_EQ(real((folder_ / "none/a").string()), "");
  EXPECT_EQ(real(std::string(4090, '/') + "a.h5-and-too-long"), "");
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
