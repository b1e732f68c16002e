// A summary in steps, each by another program, is the one that is made at once.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/summarize.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

using recorder::BlockType;
using recorder::CallNumber;
namespace made = recorder::made;

constexpr std::int64_t kHdf5File = 16777216, kDataset = 83886080, kObject = 1;
constexpr int kBatches = 4, kCallsABatch = 900;

// A batch of a rank that moves bytes at drawn places of three files, by HDF5, MPI-IO and POSIX.
made::RingBytes batch_of(int batch, std::mt19937_64& draw) {
  made::RingBytes ring;
  std::uint64_t now = 1000 + static_cast<std::uint64_t>(batch) * 10'000'000;
  const auto control = [&](CallNumber number, std::vector<std::int64_t> numbers,
                           const std::string& text = {}) {
    ring.add(number, {now += 10, 5}, {}, std::move(numbers), text, true);
  };
  const auto file_note = [&](std::int64_t number, std::int64_t handle, std::int64_t layer,
                             const std::string& path) {
    ring.add(CallNumber::kiotune_file, {now += 10, 0}, {number}, {handle, layer}, path, true);
  };
  if (batch == 0) {
    control(CallNumber::kopen, {66, 0, 5}, "/scratch/posix.dat");
    file_note(1, 5, 3, "/scratch/posix.dat");
    control(CallNumber::kMPI_File_open, {1, 2, 0, 777, 0}, "mpi.dat");
    file_note(2, 777, 1, "/scratch/mpi.dat");
    control(CallNumber::kH5Fcreate, {2, 0, 167772177, kHdf5File}, "a.h5");
    file_note(3, kHdf5File, 0, "/scratch/a.h5");
    std::string names = "/scratch/a.h5";
    names += '\0';
    names += "/Data1";
    ring.add(CallNumber::kiotune_dataset, {now += 10, 0}, {kObject},
             {kDataset, 4, 0, 1, 0, 1, 1000000, -1}, names, true);
  }
  for (int i = 0; i < kCallsABatch; ++i) {
    const auto at = static_cast<std::int64_t>(draw() % 100000);
    now += 100;
    if (i % 3 == 0) {
      ring.add(CallNumber::kpwrite, {now, 20}, {5, 1}, {8, 8 * at, 8});
    } else if (i % 3 == 1) {
      ring.add(CallNumber::kMPI_File_write_at, {now, 40}, {}, {777, 16 * at, 16, 1275068685, 0, 1});
    } else {
      ring.add(CallNumber::kH5Dwrite, {now, 60}, {},
               {kDataset, 50331660, 67108868, 67108867, 0, 0, kObject, 0, 4, 3, 2, 1, at, 1, 1, 3});
    }
  }
  if (batch == kBatches - 1) {
    control(CallNumber::kH5Fclose, {kHdf5File, 0});
    control(CallNumber::kMPI_File_close, {777, 0});
  }
  return ring;
}

std::string irregular_trace(const made::Folder& folder) {
  std::mt19937_64 draw(7);
  auto trace = made::trace_head();
  for (int rank = 0; rank < 3; ++rank) {
    made::add_block(trace, BlockType::kProcess,
                    made::bytes_of(made::process_text(100 + rank, rank)));
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto epoch = static_cast<std::uint32_t>(batch);
      made::add_block(trace, BlockType::kEvents,
                      made::encoded(batch_of(batch, draw).bytes(), 0, epoch));
    }
    made::add_block(trace, BlockType::kEnd, made::bytes_of("end=exit\n"));
  }
  return folder.file("t.iotrace", trace);
}

const StopWhen kAtOnce = [] { return true; };

// One step at a time, each with what the one before left.
std::string in_steps(const std::string& path, std::uint64_t calls_at_once, int& steps) {
  std::string state;
  for (steps = 1;; ++steps) {
    Result<SteadySummary> summary = SteadySummary::open(path, calls_at_once);
    if (!summary || (steps > 1 && !summary->restore(state)) || steps > 100000) return "broken";
    if (summary->go_on(kAtOnce)) return to_json(summary->finish());
    state = summary->state();
  }
}

TEST(SteadySummary, StepsOfManyProgramsAreOneSummary) {
  const made::Folder folder;
  const std::string path = irregular_trace(folder);
  const Result<RunSummary> whole = summarize(path);
  ASSERT_TRUE(whole) << whole.error().text();
  ASSERT_EQ(whole->files.size(), 3U);
  int steps = 0;
  EXPECT_EQ(in_steps(path, 0, steps), to_json(*whole));
  EXPECT_GE(steps, 3 * kBatches * kCallsABatch / 512);  // the calls were divided, not the ranks alone
}

TEST(SteadySummary, KeptTracesInSteps) {
  for (const char* name : {"four-ranks-hdf5", "merged-ranks", "serial-posix"}) {
    for (const std::uint64_t calls_at_once : {0U, 4096U}) {
      const std::string path = std::string(IOTUNE_TEST_DATA) + "/v3/" + name + ".iotrace";
      const Result<RunSummary> whole = summarize(path);
      ASSERT_TRUE(whole);
      int steps = 0;
      EXPECT_EQ(in_steps(path, calls_at_once, steps), to_json(*whole)) << name;
    }
  }
}

// A state that was cut or changed, or is of another trace: from the beginning again.
TEST(SteadySummary, DamagedStateBeginsAnew) {
  const made::Folder folder;
  const std::string path = irregular_trace(folder);
  const std::string whole = to_json(*summarize(path));
  Result<SteadySummary> begun = SteadySummary::open(path, 0);
  ASSERT_TRUE(begun);
  begun->go_on(kAtOnce);
  const std::string state = begun->state();
  std::mt19937_64 draw(3);
  int refused = 0;
  Result<SteadySummary> again = SteadySummary::open(path, 0);
  for (int i = 0; i < 60; ++i) {
    if (!again->restore(state.substr(0, draw() % state.size()))) ++refused;
  }
  EXPECT_EQ(refused, 60);
  EXPECT_TRUE(again->go_on([] { return false; }));
  EXPECT_EQ(to_json(again->finish()), whole);
  Result<SteadySummary> other =
      SteadySummary::open(std::string(IOTUNE_TEST_DATA) + "/v3/serial-posix.iotrace");
  EXPECT_FALSE(other->restore(state));
}

}  // namespace
}  // namespace iotune::analyzer
