// Files of iotune's own: names that are taken when a file is whole, and the lock between processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "core/files/file_lock.h"
#include "core/files/fresh_file.h"

namespace iotune {
namespace {

class OwnFiles : public ::testing::Test {
 protected:
  OwnFiles() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~OwnFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ + "/" + name; }
  void put(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string content(const char* name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  const std::string folder_ = ::testing::TempDir() + "own-files-" + std::to_string(::getpid());
};

TEST_F(OwnFiles, AFreshFileTakesItsNameWhole) {
  put("a", "old");
  {
    FreshFile file(path("a").c_str());
    file.write("new", 3);
    EXPECT_EQ(content("a"), "old");
    file.sync();
    EXPECT_EQ(file.take_name(path("a").c_str()), 0);
  }
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OwnFiles, AFreshFileThatFailsLeavesTheOldOneAndNothingElse) {
  put("a", "old");
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4;
  {
    FreshFile file(path("a").c_str());
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    file.write("12345", 5);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(file.error(), -EFBIG);
    EXPECT_EQ(file.take_name(path("a").c_str()), -EFBIG);
  }
  {
    const FreshFile never_named(path("a").c_str());
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OwnFiles, ANameThatMustBeFreeIsNotTaken) {
  put("a", "old");
  {
    FreshFile file(path("a").c_str());
    file.write("new", 3);
    EXPECT_EQ(file.take_name(path("a").c_str(), FreshFile::Name::kFree), -EEXIST);
    EXPECT_EQ(file.take_name(path("b").c_str(), FreshFile::Name::kFree), 0);
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(content("b"), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(OwnFiles, ALockIsOneProcessesUntilItEnds) {
  const auto opened = [&] {
    return Descriptor(::open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  };
  {
    const FileLock first(opened());
    EXPECT_TRUE(first.held());
    // Another description of the file, as another process has.
    EXPECT_FALSE(FileLock(opened(), 2, {0, 1'000'000}).held());
  }
  EXPECT_TRUE(FileLock(opened(), 1, {}).held());
  EXPECT_FALSE(FileLock(Descriptor(), 1, {}).held());
}

TEST_F(OwnFiles, ADescriptorIsClosedWithItsLastOwner) {
  int number = -1;
  {
    Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = first.get();
    const Descriptor second(std::move(first));
    EXPECT_EQ(first.get(), -1);  // NOLINT(bugprone-use-after-move): its promise
    EXPECT_EQ(second.get(), number);
    errno = ENOTTY;
  }
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace iotune
