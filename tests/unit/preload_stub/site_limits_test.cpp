// The site's file alone, without the library around it: what it says is heard here.
#include "core/process/site_limits.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {
std::string g_said;
}

namespace iotune::recorder {
namespace {

void hear(const char* text) noexcept {
  g_said += std::string(text) + "\n";
}

class SiteLimitsTest : public testing::Test {
 protected:
  SiteLimitsTest() {
    char name[] = "/tmp/iotune-site-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    g_said.clear();
  }
  ~SiteLimitsTest() override { unlink(path_.c_str()); }

  SiteLimits read(const std::string& text, mode_t mode = 0644) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
    g_said.clear();
    return read_site_limits(path_.c_str(), hear);
  }
  std::string path_;
};

TEST_F(SiteLimitsTest, SaysWhatLeavesNoTrace) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  EXPECT_EQ(read("").keep_above_mib, 0u);
  EXPECT_STREQ(read("").programs, "");
  const SiteLimits some = read("keep_above_mib = 64\nexclude_programs = /opt/a:b*\n");
  EXPECT_EQ(some.keep_above_mib, 64u);
  EXPECT_STREQ(some.programs, "/opt/a:b*");
  // Said twice, the larger holds, and both lists.
  const SiteLimits twice =
      read("keep_above_mib=9\nkeep_above_mib=8\nexclude_programs=a\nexclude_programs=b");
  EXPECT_EQ(twice.keep_above_mib, 9u);
  EXPECT_STREQ(twice.programs, "a:b");
  for (const char* const wrong : {"", "0", "16 MiB", "-1", "1048576", "99999999"}) {
    EXPECT_EQ(read(std::string("keep_above_mib = ") + wrong).most, Mode::kOff) << wrong;
  }
  EXPECT_EQ(read("exclude_programs =").most, Mode::kOff);
  EXPECT_EQ(read("exclude_programs = " + std::string(600, 'x')).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, SaysWhatIsAllowed) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  const SiteLimits all = read("");
  EXPECT_EQ(all.most, Mode::kTune);
  EXPECT_FALSE(all.frozen);
  EXPECT_EQ(all.share, 100u);
  const SiteLimits some = read("# ours\nmode = record # for now\n\n freeze=yes\r\n\tshare = 25\n");
  EXPECT_EQ(some.most, Mode::kRecord);
  EXPECT_TRUE(some.frozen);
  EXPECT_EQ(some.share, 25u);
  EXPECT_EQ(read("mode=off").most, Mode::kOff);
  EXPECT_EQ(g_said, "");
  // Said twice, the stricter holds.
  const SiteLimits twice =
      read("share=10\nshare=90\nmode=record\nmode=tune\nfreeze=yes\nfreeze=no");
  EXPECT_EQ(twice.share, 10u);
  EXPECT_EQ(twice.most, Mode::kRecord);
  EXPECT_TRUE(twice.frozen);
}

TEST_F(SiteLimitsTest, NamesADatabase) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  EXPECT_STREQ(read("mode=tune").database, "");
  EXPECT_STREQ(site_database(), "");
  EXPECT_STREQ(read("database = /site/a b.db # ours\n").database, "/site/a b.db");
  EXPECT_STREQ(site_database(), "/site/a b.db");
  EXPECT_STREQ(read("database=/first\ndatabase=/second").database, "/first");
  EXPECT_EQ(g_said, "");
  EXPECT_EQ(read("database = patterns.db").most, Mode::kOff);
  EXPECT_NE(g_said.find("begins with /"), std::string::npos) << g_said;
  EXPECT_EQ(read("database = /" + std::string(600, 'x')).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, NamesAFolderOfReplayers) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  EXPECT_STREQ(read("mode=tune").replayers, "");
  EXPECT_STREQ(read("replayers = /site/a b # ours\n").replayers, "/site/a b");
  EXPECT_STREQ(read("replayers=/first\nreplayers=/second").replayers, "/first");
  EXPECT_EQ(g_said, "");
  EXPECT_EQ(read("replayers = here").most, Mode::kOff);
  EXPECT_NE(g_said.find("replayers is no path that begins with /"), std::string::npos) << g_said;
  EXPECT_EQ(read("replayers =").most, Mode::kOff);
  EXPECT_EQ(read("replayers = /" + std::string(600, 'x')).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, NamesAFolderForTraces) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  read("mode=tune");
  EXPECT_STREQ(site_traces().pattern, "");
  EXPECT_FALSE(site_traces().for_group);
  read("traces = /site/%u # ours\nreadable_by = group\ntraces = /other/%u\n");
  EXPECT_STREQ(site_traces().pattern, "/site/%u");
  EXPECT_TRUE(site_traces().for_group);
  // Said twice, the stricter holds.
  read("readable_by = owner\nreadable_by = group\n");
  EXPECT_STREQ(site_traces().pattern, "");
  EXPECT_FALSE(site_traces().for_group);
  EXPECT_EQ(g_said, "");
  for (const char* text :
       {"traces = /site/all", "traces = %u", "readable_by = all", "readable_by ="}) {
    EXPECT_EQ(read(text).most, Mode::kOff) << text;
  }
  EXPECT_EQ(read("traces = /%u/" + std::string(600, 'x')).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, NamesAFolderForTheLogOfWhatWasApplied) {
  if (access("/etc/iotune.conf", F_OK) == 0) GTEST_SKIP() << "this machine has a file of its own";
  read("traces = /site/%u");
  EXPECT_STREQ(site_applied_log().pattern, "");
  read("applied_log = /log/%u\nreadable_by = group\napplied_log = /other/%u");
  EXPECT_STREQ(site_applied_log().pattern, "/log/%u");
  EXPECT_TRUE(site_applied_log().for_group);
  EXPECT_STREQ(site_traces().pattern, "");
  EXPECT_EQ(g_said, "");
  EXPECT_EQ(read("applied_log = /site/all").most, Mode::kOff);
  EXPECT_NE(g_said.find(":1: applied_log has no %u"), std::string::npos) << g_said;
}

TEST_F(SiteLimitsTest, WhatCannotBeUnderstoodAllowsNothing) {
  for (const char* text : {"mode=fast", "mode", "share=101", "share=-1", "share=", "share=1e2",
                           "freeze=1", "colour=blue", "= off", "\n\nmode = tune extra"}) {
    EXPECT_EQ(read(text).most, Mode::kOff) << text;
    EXPECT_NE(g_said.find(path_ + ":"), std::string::npos) << g_said;
  }
  EXPECT_NE(g_said.find(":3:"), std::string::npos) << g_said;
  EXPECT_EQ(read(std::string("mode=tune\0", 10)).most, Mode::kOff);
  EXPECT_EQ(read(std::string(5000, '\n')).most, Mode::kOff);
  EXPECT_EQ(read_site_limits("/nowhere/at/all", hear).most, Mode::kOff);
  EXPECT_EQ(read_site_limits("/tmp", hear).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, WhatOthersMayWriteAllowsNothing) {
  EXPECT_EQ(read("mode=tune", 0664).most, Mode::kOff);
  EXPECT_NE(g_said.find("may be written by others"), std::string::npos) << g_said;
  EXPECT_EQ(read("mode=tune", 0646).most, Mode::kOff);
  if (getuid() != 0) GTEST_SKIP() << "NOT VERIFIED: another user's file, this is not root";
  std::ofstream(path_) << "mode=tune";
  chmod(path_.c_str(), 0644);
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(read_site_limits(path_.c_str(), hear).most, Mode::kOff);
}

TEST_F(SiteLimitsTest, TheShareIsOfJobs) {
  int in = 0;
  constexpr int kJobs = 2000;
  for (int job = 0; job < kJobs; ++job) {
    const std::string id = std::to_string(4000000 + job);
    const bool first = job_is_in_share(id.c_str(), 30);
    in += first ? 1 : 0;
    // A larger share has all of a smaller one's jobs.
    if (first) {
      EXPECT_TRUE(job_is_in_share(id.c_str(), 40));
    }
    EXPECT_TRUE(job_is_in_share(id.c_str(), 100));
    EXPECT_FALSE(job_is_in_share(id.c_str(), 0));
  }
  EXPECT_NEAR(in, kJobs * 0.3, 4 * 20.5);  // four standard deviations of a fair draw
  int others = 0;
  for (int pid = 1; pid <= kJobs; ++pid) {
    const std::string id = "proxy-" + std::to_string(pid * 7) + "-99887766";
    others += job_is_in_share(id.c_str(), 30) ? 1 : 0;
  }
  EXPECT_NEAR(others, kJobs * 0.3, 4 * 20.5);
}

}  // namespace
}  // namespace iotune::recorder
