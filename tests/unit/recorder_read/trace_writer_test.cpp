// Traces of calls that nobody intercepted, read back.
#include "recorder/write/trace_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "recorder/call_numbers.h"
#include "recorder/read/trace_reader.h"
#include "recorder/write/access_writer.h"

namespace iotune::recorder {
namespace {

class TraceWriterTest : public testing::Test {
 protected:
  TraceWriterTest() {
    directory_ = std::filesystem::temp_directory_path() /
                 ("trace-writer-" + std::to_string(::getpid()) + "-" +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    path_ = (directory_ / "made.iotrace").string();
  }
  ~TraceWriterTest() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  static NewAccess access(std::int64_t offset, std::int64_t length, std::uint64_t start) {
    NewAccess made;
    made.kind = AccessKind::kWrite;
    made.path = "/scratch/file";
    made.offset = offset;
    made.length = length;
    made.start_ns = start;
    made.end_ns = start + 1000;
    return made;
  }

  std::filesystem::path directory_;
  std::string path_;
};

constexpr std::uint64_t kZero = 1'700'000'000'000'000'000;

TEST_F(TraceWriterTest, ManyBatchesOfInterleavedProcessesComeBackExactly) {
  constexpr int kCalls = 40000;  // several batches of each
  AccessWriter writer(path_, KeptTimes::kExact, false);
  for (int rank = 0; rank < 2; ++rank) {
    writer.trace().add_process({{"rank", std::to_string(1 - rank)}, {"host", "n"}, {"pid", "7"}});
  }
  for (int i = 0; i < kCalls; ++i) {
    for (std::uint32_t process = 0; process < 2; ++process) {
      const std::uint64_t start = kZero + process + static_cast<std::uint64_t>(i) * 3000;
      ASSERT_EQ(writer.take_thread(process, start, start + 1000), 0);
      ASSERT_TRUE(writer.add(process, 0, access(i * 7, i % 13, start)));
    }
  }
  const Result<WrittenTrace> written = writer.finish();
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(written->calls, 2 * (kCalls + 3));  // open, its note, close

  const Result<TraceReader> reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->process_count(), 2U);
  for (std::size_t p = 0; p < 2; ++p) {
    const ProcessCalls process = reader->read(p);
    EXPECT_EQ(process.rank(), static_cast<std::int64_t>(p));  // in the order of ranks
    EXPECT_EQ(process.wall_ns(), kZero + (1 - p));
    EXPECT_TRUE(process.damage.empty());
    int i = 0;
    for (const Call& call : process.calls) {
      if (call.name() != "pwrite") continue;
      ASSERT_EQ(call.numbers[0], i % 13);
      ASSERT_EQ(call.numbers[1], i * 7);
      ASSERT_EQ(call.start_ns, static_cast<std::uint64_t>(i) * 3000);
      ASSERT_EQ(call.duration_ns, 1000U);
      ++i;
    }
    EXPECT_EQ(i, kCalls);
  }
  EXPECT_EQ(files(), std::vector<std::string>{"made.iotrace"});
}

TEST_F(TraceWriterTest, PatternsTakeNoRoomWhereTimesAreThoseOfPatterns) {
  AccessWriter writer(path_, KeptTimes::kPattern, false);
  writer.trace().add_process({{"rank", "0"}});
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t start = kZero + static_cast<std::uint64_t>(i) * 2000;
    writer.take_thread(0, start, start + 1000);
    ASSERT_TRUE(writer.add(0, 0, access(i * 4096, 4096, start)));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_LT(std::filesystem::file_size(path_), 16384U);
}

TEST_F(TraceWriterTest, CallsThatComeOutOfOrderGetThreadsOfTheirOwn) {
  AccessWriter writer(path_, KeptTimes::kExact, false);
  writer.trace().add_process({{"rank", "0"}});
  // The second begins before the first, also before what was thought the process's beginning.
  for (const std::uint64_t start : {kZero + 5000, kZero, kZero + 5500, kZero + 9000}) {
    const std::int64_t thread = writer.take_thread(0, start, start + 1000);
    ASSERT_TRUE(writer.add(0, static_cast<std::uint32_t>(thread), access(0, 1, start)));
  }
  ASSERT_TRUE(writer.finish());
  const ProcessCalls process = TraceReader::open(path_)->read(0);
  EXPECT_EQ(process.wall_ns(), kZero);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  for (const Call& call : process.calls) {
    if (call.name() == "pwrite") found.emplace_back(call.thread, call.start_ns);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{
                       {1, 0}, {0, 5000}, {1, 5500}, {0, 9000}}));
}

TEST_F(TraceWriterTest, NothingIsLeftOfWhatWasNeverFinished) {
  {
    AccessWriter writer(path_, KeptTimes::kExact, false);
    writer.trace().add_process({{"rank", "0"}});
    ASSERT_TRUE(writer.add(0, 0, access(0, 1, kZero)));
    EXPECT_TRUE(files().empty());  // not even while it is written
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(TraceWriterTest, AnExistingFileIsReplacedOnRequestOnly) {
  std::ofstream(path_) << "mine";
  AccessWriter refused(path_, KeptTimes::kExact, false);
  refused.trace().add_process({});
  EXPECT_FALSE(refused.add(0, 0, access(0, 1, kZero)));
  EXPECT_FALSE(refused.finish());
  EXPECT_EQ(std::filesystem::file_size(path_), 4U);

  AccessWriter meanwhile((directory_ / "other").string(), KeptTimes::kExact, false);
  meanwhile.trace().add_process({});
  std::ofstream(directory_ / "other") << "made meanwhile";
  EXPECT_FALSE(meanwhile.finish());

  AccessWriter wanted(path_, KeptTimes::kExact, true);
  wanted.trace().add_process({{"rank", "0"}});
  ASSERT_TRUE(wanted.add(0, 0, access(0, 1, kZero)));
  ASSERT_TRUE(wanted.finish());
  EXPECT_TRUE(TraceReader::open(path_));
}

TEST_F(TraceWriterTest, WhatCannotBeIsRefusedAndTheRestWritten) {
  AccessWriter writer(path_, KeptTimes::kExact, false);
  writer.trace().add_process({{"rank", "0"}});
  EXPECT_FALSE(writer.add(0, 0, access(-1, 1, kZero)));
  EXPECT_FALSE(writer.add(0, 0, access(0, -1, kZero)));
  EXPECT_FALSE(writer.add(0, 0, access(0, 1, UINT64_MAX - 2000)));
  EXPECT_FALSE(writer.add(3, 0, access(0, 1, kZero)));
  NewAccess backwards = access(0, 1, kZero);
  backwards.end_ns = kZero - 1;
  EXPECT_FALSE(writer.add(0, 0, backwards));
  EXPECT_TRUE(writer.add(0, 0, access(0, 1, kZero)));
  EXPECT_TRUE(writer.finish());
}

}  // namespace
}  // namespace iotune::recorder
