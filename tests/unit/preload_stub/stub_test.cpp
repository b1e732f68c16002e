// The preload's objects in a program of their own, under whatever sanitizer the build has.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "recorder/read/trace_reader.h"

namespace fs = std::filesystem;
using iotune::recorder::Call;
using iotune::recorder::ProcessCalls;
using iotune::recorder::TraceReader;

namespace {

constexpr unsigned kThreads = 3, kCalls = 6000, kWaves = 20;
constexpr int kShortCalls = kThreads * kWaves * (kCalls / 16);

std::map<std::string, std::uint64_t> count_calls(const ProcessCalls& process) {
  std::map<std::string, std::uint64_t> counts;
  for (const Call& call : process.calls) ++counts[call.name()];
  return counts;
}

class PreloadStub : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "iotune-stub-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    fs::create_directory(directory_ / "data");
  }
  void TearDown() override { fs::remove_all(directory_); }

  int run(const std::string& environment) {
    const std::string command = "IOTUNE_DB=none IOTUNE_TRACE='" + trace() +
                                "' IOTUNE_BUFFER_DIR='" + buffers() + "' " + environment + " '" +
                                STUB_PROGRAM + "' '" + (directory_ / "data").string() + "' " +
                                std::to_string(kThreads) + " " + std::to_string(kCalls) + " > '" +
                                (directory_ / "out").string() + "'";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string trace() const { return (directory_ / "run.iotrace").string(); }
  // What the program printed: how many times its handler wrote.
  std::uint64_t handled_signals() const {
    std::ifstream out(directory_ / "out");
    std::uint64_t signals = 0;
    out >> signals;
    return signals;
  }
  std::string buffers() const { return (directory_ / "buffers").string(); }
  fs::path directory_;
};

TEST_F(PreloadStub, RecordsEveryCallOfEveryThread) {
  // given three threads, a signal handler and a forked child that all do I/O
  ASSERT_EQ(run("IOTUNE_MODE=record"), 0);
  // when the parent's trace is read
  auto trace_file = TraceReader::open(trace());
  ASSERT_TRUE(bool(trace_file)) << trace_file.error().text();
  const ProcessCalls parent = trace_file->read(0);
  // then every transfer of the threads is in it
  auto counts = count_calls(parent);
  EXPECT_EQ(counts["pwrite"], kThreads * kCalls);
  EXPECT_EQ(counts["pread"], 2 * kThreads * kCalls + kShortCalls);
  EXPECT_TRUE(parent.damage.empty());
  // The handler's call is dropped where it meets a thread that is emptying a ring: it may not wait.
  EXPECT_LE(counts["write"] + parent.dropped, handled_signals());
  EXPECT_GT(counts["write"], parent.dropped);
}

TEST_F(PreloadStub, SpillsWhileThreadsGoOn) {
  // given as little memory as can be, and times that fill it
  ASSERT_EQ(run("IOTUNE_MODE=record IOTUNE_MEMORY_MIB=0 IOTUNE_TIMING=exact"), 0);
  // when the parent's trace and the child's buffer are read
  auto trace_file = TraceReader::open(trace());
  ASSERT_TRUE(bool(trace_file)) << trace_file.error().text();
  const ProcessCalls parent = trace_file->read(0);
  // then no call is missing or there twice
  auto counts = count_calls(parent);
  EXPECT_EQ(counts["pwrite"], kThreads * kCalls);
  EXPECT_EQ(counts["pread"], 2 * kThreads * kCalls + kShortCalls);
  EXPECT_GT(fs::file_size(trace()), 320U << 10U) << "the blocks fitted into memory";
  for (const auto& entry : fs::directory_iterator(directory_)) {
    EXPECT_NE(entry.path().extension(), ".iospill") << "left behind";
  }
}

TEST_F(PreloadStub, LeavesTheChildsBufferForTheNextReader) {
  ASSERT_EQ(run("IOTUNE_MODE=record"), 0);
  // the child ended by _exit: no hook ran, its calls are in its own buffer
  int children = 0;
  for (const auto& entry : fs::recursive_directory_iterator(buffers())) {
    if (entry.path().extension() != ".iobuf") continue;
    auto buffer = TraceReader::open(entry.path().string());
    ASSERT_TRUE(bool(buffer)) << buffer.error().text();
    auto counts = count_calls(buffer->read(0));
    EXPECT_EQ(counts["pwrite"], kCalls);
    EXPECT_EQ(counts["pread"], 2 * kCalls);
    ++children;
  }
  EXPECT_EQ(children, 1);
}

TEST_F(PreloadStub, DoesNothingWhenOff) {
  ASSERT_EQ(run("IOTUNE_MODE=off"), 0);
  EXPECT_FALSE(fs::exists(trace()));
  EXPECT_FALSE(fs::exists(buffers()));
}

}  // namespace
