// Writes of a log that are gathered, and what is read ahead of one.
#include "logstore/store/log_buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "logstore/store/log_windows.h"

namespace iotune::logstore {
namespace {

class LogEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/iotune-log-XXXXXX";
    fd_ = mkstemp(path);
    ASSERT_GE(fd_, 0);
    unlink(path);
  }
  void TearDown() override { close(fd_); }

  std::int64_t size() const {
    struct stat status {};
    fstat(fd_, &status);
    return status.st_size;
  }
  std::string content() const {
    std::string bytes(static_cast<std::size_t>(size()), '\0');
    EXPECT_EQ(pread(fd_, bytes.data(), bytes.size(), 0), size());
    return bytes;
  }

  int fd_ = -1;
};

TEST_F(LogEnd, SmallWritesAreHeldAndComeInTheirOrder) {
  LogBuffer buffer(fd_);
  std::string wanted;
  for (int i = 0; i < 5000; ++i) {
    const std::string one = std::to_string(i) + (i % 700 == 0 ? std::string(20000, 'x') : "");
    ASSERT_EQ(buffer.write_at(one.data(), one.size(), static_cast<std::int64_t>(wanted.size())),
              static_cast<std::int64_t>(one.size()));
    wanted += one;
    EXPECT_LE(static_cast<std::int64_t>(wanted.size()) - size(),
              static_cast<std::int64_t>(LogBuffer::kBytes));
  }
  EXPECT_LT(size(), static_cast<std::int64_t>(wanted.size()));
  EXPECT_EQ(buffer.write_out(), 0);
  EXPECT_EQ(content(), wanted);
}

TEST_F(LogEnd, AWriteElsewhereDoesNotMoveWhatIsHeld) {
  LogBuffer buffer(fd_);
  EXPECT_EQ(buffer.write_at("abc", 3, 0), 3);
  EXPECT_EQ(buffer.write_at("XY", 2, 1), 2);  // over a write that failed in part
  EXPECT_EQ(buffer.write_out(), 0);
  EXPECT_EQ(content(), "aXY");
}

TEST_F(LogEnd, WhatHasNoRoomIsStillHeldAndWrittenOnceThereIs) {
  const auto kept_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit kept{};
  getrlimit(RLIMIT_FSIZE, &kept);
  const rlimit small{1000, kept.rlim_max};
  LogBuffer buffer(fd_);
  const std::string bytes(3000, 'a');
  EXPECT_EQ(buffer.write_at(bytes.data(), bytes.size(), 0), 3000);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(buffer.write_out(), -EFBIG);
  EXPECT_EQ(buffer.sync(), -EFBIG);
  EXPECT_EQ(size(), 1000);
  // More is taken for as long as it can be held, and no longer.
  std::int64_t at = 3000;
  while (at <= static_cast<std::int64_t>(2 * LogBuffer::kBytes)) {
    const std::int64_t some = buffer.write_at(bytes.data(), bytes.size(), at);
    if (some < 0) break;
    at += some;
  }
  EXPECT_LE(at, static_cast<std::int64_t>(LogBuffer::kBytes) + 1000);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &kept), 0);
  EXPECT_EQ(buffer.write_out(), 0);
  EXPECT_EQ(content(), std::string(static_cast<std::size_t>(at), 'a'));
  std::signal(SIGXFSZ, kept_handler);
}

TEST_F(LogEnd, ARowOfReadsIsReadAhead) {
  std::string bytes;
  for (int i = 0; i < 50000; ++i) bytes += std::to_string(i);
  ASSERT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  LogWindows windows;
  const LogWindows::Log log{1, 2}, other{1, 3};
  char to[100];
  EXPECT_FALSE(windows.read(log, 0, to, 100));
  EXPECT_FALSE(windows.goes_on(log, 0, 100));      // the first
  EXPECT_FALSE(windows.goes_on(log, 50000, 100));  // far away
  EXPECT_TRUE(windows.goes_on(log, 50200, 100));
  ASSERT_TRUE(windows.fill(log, fd_, 50200));
  for (const std::int64_t at : {50200, 60000, 50201}) {
    ASSERT_TRUE(windows.read(log, at, to, 100)) << at;
    EXPECT_EQ(std::string(to, 100), bytes.substr(static_cast<std::size_t>(at), 100));
  }
  EXPECT_FALSE(windows.read(log, 50199, to, 100));
  EXPECT_FALSE(windows.read(other, 50200, to, 100));
  // The end of the log is the end of what is held.
  const auto end = static_cast<std::int64_t>(bytes.size());
  ASSERT_TRUE(windows.fill(log, fd_, end - 50));
  EXPECT_TRUE(windows.read(log, end - 50, to, 50));
  EXPECT_FALSE(windows.read(log, end - 50, to, 51));
}

}  // namespace
}  // namespace iotune::logstore
