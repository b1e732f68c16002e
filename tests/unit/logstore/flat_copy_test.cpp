// A container as an ordinary file: byte for byte, and in few calls of the system.
#include "logstore/flat/flat_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fake_files.h"
#include "job_files.h"
#include "logstore/compact/compaction.h"

namespace iotune::logstore {
namespace {

using testing::FakeClock;
using testing::FakeWriter;
using testing::JobFiles;

struct Calls {
  std::int64_t reads = 0, writes = 0;
};

// Of this process, as the kernel counts them.
Calls calls_so_far() {
  std::ifstream counts("/proc/self/io");
  Calls calls;
  for (std::string name; counts >> name;) {
    std::int64_t count = 0;
    counts >> count;
    if (name == "syscr:") calls.reads = count;
    if (name == "syscw:") calls.writes = count;
  }
  return calls;
}

Calls calls_of(const std::function<void()>& work) {
  const Calls before = calls_so_far();
  work();
  const Calls after = calls_so_far();
  return {after.reads - before.reads, after.writes - before.writes};
}

class FlatCopyTest : public ::testing::Test {
 protected:
  ~FlatCopyTest() override { close(to_); }

  // `count` writes of `size` bytes a writer, each behind those of the others, `gap` bytes between.
  void write_in_turns(int writers, int count, std::size_t size, std::size_t gap) {
    const std::size_t stride = size + gap;
    content_.assign(
        static_cast<std::size_t>(writers) * static_cast<std::size_t>(count) * stride - gap, '\0');
    for (int writer = 0; writer < writers; ++writer) {
      FakeWriter one("node1.77." + std::to_string(writer), clock_);
      for (int i = 0; i < count; ++i) {
        const auto turn = static_cast<std::size_t>(i) * static_cast<std::size_t>(writers) +
                          static_cast<std::size_t>(writer);
        std::string bytes(size, '\0');
        for (char& c : bytes) c = static_cast<char>(draw_() | 1U);
        one.writer.append(static_cast<std::int64_t>(turn * stride), bytes.data(), size);
        content_.replace(turn * stride, size, bytes);
      }
      EXPECT_EQ(one.writer.sync(), 0);
      job_.put(one);
    }
  }
  Calls copy() {
    const auto container = Container::open(job_.path());
    EXPECT_TRUE(container);
    const std::int64_t size = container->map().size();
    EXPECT_EQ(size, static_cast<std::int64_t>(content_.size()));
    const Calls calls = calls_of([&] { EXPECT_TRUE(copy_flat(*container, to_, 0, size)); });
    std::string copied(content_.size(), '?');
    EXPECT_EQ(pread(to_, copied.data(), copied.size(), 0), std::ssize(copied));
    EXPECT_TRUE(copied == content_);
    return calls;
  }

  JobFiles job_;
  FakeClock clock_;
  std::mt19937_64 draw_{77};
  std::string content_;
  int to_ = memfd_create("copy", 0);
};

TEST_F(FlatCopyTest, small_pieces_of_two_writers_take_few_calls) {
  constexpr int kPieces = 300'000;
  write_in_turns(2, kPieces, 8, 0);
  const Calls calls = copy();
  EXPECT_LE(calls.reads, 2 * (2 * kPieces / static_cast<int>(ReadPlan::kMostPieces) + 1) + 20);
  EXPECT_LE(calls.writes, 20);
}

TEST_F(FlatCopyTest, small_pieces_with_holes_between_them_do_too) {
  write_in_turns(2, 100'000, 8, 24);
  const Calls calls = copy();
  EXPECT_LE(calls.reads, 40);
  EXPECT_LE(calls.writes, 20);
}

TEST_F(FlatCopyTest, many_writers_take_calls_by_writers_and_not_by_pieces) {
  write_in_turns(100, 500, 1000, 0);  // 50 MB in windows of 8 MiB
  const Calls calls = copy();
  EXPECT_LE(calls.reads, 100 * 7 + 20);
  EXPECT_LE(calls.writes, 20);
}

TEST_F(FlatCopyTest, holes_of_whole_blocks_stay_holes) {
  write_in_turns(1, 20, 4096, 1 << 20U);
  copy();
  struct stat about {};
  ASSERT_EQ(fstat(to_, &about), 0);
  EXPECT_LE(about.st_blocks * 512, 20 * 8192);
}

TEST_F(FlatCopyTest, so_do_reads_and_compactions) {
  write_in_turns(2, 100'000, 8, 0);
  const auto container = Container::open(job_.path());
  ASSERT_TRUE(container);
  std::string read(content_.size(), '?');
  const Calls reading =
      calls_of([&] { EXPECT_TRUE(container->read(0, std::as_writable_bytes(std::span(read)))); });
  EXPECT_TRUE(read == content_);
  EXPECT_LE(reading.reads, 20);
  CompactOptions all;
  all.least_live = 2.0;
  const Calls compacting = calls_of([&] { EXPECT_TRUE(compact(job_.path(), all)); });
  EXPECT_LE(compacting.reads, 100);
  EXPECT_LE(compacting.writes, 100);
  copy();
}

TEST_F(FlatCopyTest, a_reader_with_few_descriptors_reads_many_logs) {
  write_in_turns(200, 3, 100, 0);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(to_);
  close(next);
  struct rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 4;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  copy();
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace iotune::logstore
