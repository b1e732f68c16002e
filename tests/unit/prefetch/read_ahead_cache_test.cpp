#include "prefetch/filesystem/read_ahead_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace iotune::prefetch {
namespace {

constexpr std::size_t kFileBytes = std::size_t{3} << 20;

char byte_at(std::size_t offset) {
  return static_cast<char>(offset * 31 >> 7);
}

class ReadAhead : public testing::Test {
 protected:
  ReadAhead() {
    fd_ = mkstemp(name_);
    EXPECT_GE(fd_, 0);
    std::vector<char> bytes(kFileBytes);
    for (std::size_t i = 0; i < kFileBytes; ++i) bytes[i] = byte_at(i);
    EXPECT_EQ(pwrite(fd_, bytes.data(), kFileBytes, 0), static_cast<ssize_t>(kFileBytes));
    file_ = cache_.enter(fd_);
    reader_.fd = fd_;
  }
  ~ReadAhead() override {
    cache_.end(reader_);
    cache_.leave(file_);
    close(fd_);
    unlink(name_);
  }
  ssize_t take(off_t offset, std::size_t size) {
    buffer_.assign(size, 'x');
    const ssize_t bytes = cache_.take(*file_, reader_, buffer_.data(), size, offset);
    for (ssize_t i = 0; i < bytes; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(buffer_[at], byte_at(static_cast<std::size_t>(offset) + at));
    }
    return bytes;
  }
  // Once `bytes` of the storage were read in all.
  void wait_for(std::uint64_t bytes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (cache_.totals().fetched_bytes < bytes && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(cache_.totals().fetched_bytes, bytes);
  }

  char name_[32] = "/tmp/iotune-ahead-XXXXXX";
  int fd_ = -1;
  RequestDelay delay_{0, 0};
  ReadAheadCache cache_{std::uint64_t{4} << 20, 2, delay_};
  ReadAheadCache::File* file_ = nullptr;
  AheadReader reader_;
  std::vector<char> buffer_;
};

TEST_F(ReadAhead, WhatWasRequestedIsTakenFromMemory) {
  cache_.request(*file_, reader_, {100, kFileBytes - 200});
  wait_for(kFileBytes - 200);
  EXPECT_EQ(take(100, 4096), 4096);
  EXPECT_EQ(take((1 << 20) - 5, 4096), 4096);  // in two pieces
  EXPECT_EQ(take(100, 4096), 4096) << "what was used stays";
  EXPECT_EQ(take(0, 4096), -1);
  const ReadAheadCache::Totals totals = cache_.totals();
  EXPECT_EQ(totals.reads, 4u);
  EXPECT_EQ(totals.hits, 3u);
  // So much was asked for, no more than there is of each piece.
  EXPECT_EQ(totals.used_bytes, 3 * 4096u);
}

TEST_F(ReadAhead, OnlyWhatIsNotThereIsRequested) {
  cache_.request(*file_, reader_, {65536, 65536});
  cache_.request(*file_, reader_, {0, 4 * 65536});
  wait_for(4 * 65536);
  EXPECT_EQ(take(0, 4 * 65536), 4 * 65536);
}

TEST_F(ReadAhead, TheEndOfTheFileIsKnown) {
  cache_.request(*file_, reader_, {kFileBytes - 1000, 8192});
  wait_for(1000);
  EXPECT_EQ(take(kFileBytes - 1000, 8192), 1000);
  EXPECT_EQ(take(kFileBytes, 100), 0);
}

TEST_F(ReadAhead, AChangeTakesItsBytesAway) {
  cache_.request(*file_, reader_, {0, 1 << 20});
  cache_.request(*file_, reader_, {1 << 20, 1 << 20});
  wait_for(2 << 20);
  {
    ReadAheadCache::Change change(&cache_, file_);
    change.only(10, 10);
    EXPECT_EQ(take(1 << 20, 4096), -1) << "nothing is served while it changes";
  }
  EXPECT_EQ(take(4096, 4096), -1);
  EXPECT_EQ(take(1 << 20, 4096), 4096);
}

TEST_F(ReadAhead, WhatWasUsedMakesRoom) {
  for (int turn = 0; turn < 3; ++turn) {
    for (off_t at = 0; at < static_cast<off_t>(kFileBytes); at += 1 << 20) {
      cache_.request(*file_, reader_, {at, 1 << 20});
    }
  }
  wait_for(kFileBytes);
  char other_name[32] = "/tmp/iotune-ahead-XXXXXX";
  const int other_fd = mkstemp(other_name);
  ASSERT_EQ(ftruncate(other_fd, kFileBytes), 0);
  ReadAheadCache::File* const other = cache_.enter(other_fd);
  AheadReader reader;
  reader.fd = other_fd;
  cache_.request(*other, reader, {0, 2 << 20});
  wait_for(kFileBytes + (1 << 20));  // there was room for one piece
  EXPECT_EQ(take(0, 1 << 20), 1 << 20);
  cache_.request(*other, reader, {1 << 20, 1 << 20});
  wait_for(kFileBytes + (2 << 20));
  EXPECT_EQ(take(0, 1 << 20), -1);
  cache_.end(reader);
  cache_.leave(other);
  close(other_fd);
  unlink(other_name);
}

}  // namespace
}  // namespace iotune::prefetch
