// Users' folders below a site's, by what lies there already.
#include "core/process/site_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace iotune {
namespace {

namespace fs = std::filesystem;

class SiteFolderTest : public testing::Test {
 protected:
  SiteFolderTest() {
    char name[] = "/tmp/iotune-site-XXXXXX";
    root_ = mkdtemp(name);
    chmod(root_.c_str(), 01777);
    umask_ = umask(022);
  }
  ~SiteFolderTest() override {
    umask(umask_);
    fs::remove_all(root_);
  }

  std::string own() const { return root_ + "/" + std::to_string(geteuid()); }
  // "" or why not.
  std::string ask(bool group, bool make = true, const char* below = "/%u") {
    const char* const why = site_folder((root_ + below).c_str(), "traces", group, make, path_);
    return why == nullptr ? "" : why;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
  }
  std::string root_;
  ShortText<4096> path_;
  mode_t umask_;
};

TEST_F(SiteFolderTest, MakesFoldersForItsReadersAlone) {
  EXPECT_EQ(ask(false, false), "");
  EXPECT_FALSE(fs::exists(own())) << "asked, not made";
  EXPECT_EQ(path_.c_str(), own() + "/traces");
  EXPECT_EQ(ask(false), "");
  EXPECT_EQ(mode_of(own()), 0700u);
  EXPECT_EQ(mode_of(own() + "/traces"), 0700u);
  // What is there is opened to the group when the site asks for that, and to nobody else.
  chmod(own().c_str(), 0705);
  umask(077);
  EXPECT_EQ(ask(true), "");
  EXPECT_EQ(mode_of(own()), 0750u);
  EXPECT_EQ(mode_of(own() + "/traces"), 0750u);
  EXPECT_EQ(ask(true, true, "/%u/of/%u"), "");
  EXPECT_EQ(path_.c_str(), own() + "/of/" + std::to_string(geteuid()) + "/traces");
  EXPECT_EQ(mode_of(own() + "/of"), 0750u);
}

TEST_F(SiteFolderTest, FollowsNoLinkAndTakesNoOpenFolder) {
  const std::string elsewhere = root_ + "/elsewhere";
  fs::create_directory(elsewhere);
  fs::create_symlink(elsewhere, own());
  for (const bool make : {false, true}) EXPECT_EQ(ask(true, make), "is a link or no folder");
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_EQ(mode_of(elsewhere), 0755u);
  fs::remove(own());
  fs::create_directory(own());
  fs::create_symlink(elsewhere, own() + "/traces");
  EXPECT_EQ(ask(false), "is a link or no folder");
  fs::remove(own() + "/traces");
  chmod(own().c_str(), 0770);
  EXPECT_EQ(ask(false), "may be written by others");
  EXPECT_FALSE(fs::exists(own() + "/traces"));
  if (getuid() != 0) GTEST_SKIP() << "NOT VERIFIED: another user's folder, this is not root";
  chmod(own().c_str(), 0755);
  ASSERT_EQ(chown(own().c_str(), 12345, 12345), 0);
  EXPECT_EQ(ask(false), "belongs to another user");
  EXPECT_FALSE(fs::exists(own() + "/traces"));
}

// A user who may write there could move a user's folder away and make another of its name.
TEST_F(SiteFolderTest, WantsTheStickyBitWhereOthersMayWrite) {
  const char* const why = "lies in a folder that others may write, without a sticky bit";
  for (const unsigned mode : {0777u, 0770u, 0702u, 02775u}) {
    chmod(root_.c_str(), mode);
    for (const bool make : {false, true}) EXPECT_EQ(ask(false, make), why) << std::oct << mode;
    EXPECT_FALSE(fs::exists(own()));
  }
  for (const unsigned mode : {0755u, 01770u, 03777u}) {
    chmod(root_.c_str(), mode);
    EXPECT_EQ(ask(false), "") << std::oct << mode;
  }
  // Nor is one used that was made before.
  chmod(root_.c_str(), 0777);
  EXPECT_EQ(ask(false), why);
}

TEST_F(SiteFolderTest, MakesNothingOfTheSites) {
  for (const bool make : {false, true}) {
    EXPECT_EQ(ask(false, make, "/users/%u"), "is not there");
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST(SiteFolderText, HasToNameTheUser) {
  const auto fault = [](const std::string& text) {
    const char* const why = fault_of_site_folder(text.c_str(), text.size());
    return std::string(why == nullptr ? "" : why);
  };
  EXPECT_EQ(fault("/site/users/%u"), "");
  EXPECT_EQ(fault("/site/u%u/..traces"), "");
  for (const char* text :
       {"", "site/%u", "/site/users", "/site/%n/%u", "/site/%u/%", "/a/../%u", "/%u/.."}) {
    EXPECT_NE(fault(text), "") << text;
  }
}

}  // namespace
}  // namespace iotune
