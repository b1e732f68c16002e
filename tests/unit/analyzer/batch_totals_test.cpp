// Blocks of nothing but transfers are analysed as what they say of their streams: the outcome is
// that of their calls, one by one.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/summary/summarize.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

namespace made = recorder::made;
using made::RingBytes;
using recorder::BlockType;
using recorder::CallNumber;

constexpr std::int64_t kType = 1275068685, kFile = 777, kOther = 778, kUnseen = 779;
constexpr std::int64_t kHdf5File = 900, kRows = 901, kColumns = 902;
constexpr std::uint8_t kInHdf5 = bit_of(Layer::kHdf5);
constexpr std::uint8_t kInMpi = bit_of(Layer::kMpiIo);

class Process {
 public:
  void open_hdf5() {
    control(CallNumber::kH5Fcreate, {2, 0, 0, kHdf5File}, "x.h5");
    note(4, kHdf5File, 0, "/scratch/x.h5");
    ring_.add(CallNumber::kiotune_file, time(0), {7}, {8, 3}, "/scratch/x.h5", true, kInHdf5);
    for (const std::int64_t id : {kRows, kColumns}) {
      control(CallNumber::kH5Dcreate2, {kHdf5File, 5, 6, 0, 0, 0, id}, "d");
      const std::string names = std::string("/scratch/x.h5") + '\0' + "/d" + std::to_string(id);
      ring_.add(CallNumber::kiotune_dataset, time(0), {id}, {id, 8, 0, 1, 0, 2, 500, 500, -1},
                names, true, kInHdf5);
    }
  }
  // Rows or columns of so many, each `step` after the one before; every fourth is seen below.
  void write_rows(std::int64_t id, std::int64_t first, std::int64_t step, int count, bool buffers) {
    for (int i = 0; i < count; ++i) {
      control(CallNumber::kH5Dget_space, {id, 1000 + i});
      if (i % 4 == 3 || !buffers) {
        const std::int64_t bytes = buffers ? 3000 : 1000;
        ring_.add(CallNumber::kpwrite, time(10), {8, 7}, {bytes, 4096 * i, bytes}, {}, false,
                  kInHdf5);
      }
      const std::int64_t at = first + step * i;
      std::vector<std::int64_t> numbers{id, 5, 6, 1000 + i, 0, 0, id, 0, 8, 125, 2, 2};
      if (id == kRows) {
        numbers.insert(numbers.end(), {at, 0, 1, 1, 1, 125, 1, 1});
      } else {
        numbers.insert(numbers.end(), {0, at, 1, 1, 125, 1, 1, 1});
      }
      ring_.add(CallNumber::kH5Dwrite, time(40), {}, numbers);
    }
  }
  void close_hdf5() {
    ring_.add(CallNumber::kpwrite, time(10), {8, 7}, {3000, 0, 3000}, {}, false, kInHdf5);
    control(CallNumber::kH5Fflush, {kHdf5File, 1, 0});
    control(CallNumber::kH5Fclose, {kHdf5File, 0});
  }
  void open() {
    control(CallNumber::kopen, {66, 0, 5}, "/scratch/posix.dat");
    note(1, 5, 3, "/scratch/posix.dat");
    control(CallNumber::kMPI_File_open, {1, 2, 0, kFile, 0}, "mpi.dat");
    note(2, kFile, 1, "/scratch/mpi.dat");
    control(CallNumber::kMPI_File_open, {1, 2, 0, kOther, 0}, "other.dat");
    note(3, kOther, 1, "/scratch/other.dat");
  }
  void close() {
    control(CallNumber::kclose, {0}, {}, {5, 1});
    control(CallNumber::kMPI_File_close, {kFile, 0});
  }
  void pwrite(std::int64_t at, std::int64_t bytes) {
    ring_.add(CallNumber::kpwrite, time(20), {5, 1}, {bytes, at, bytes});
  }
  void seek(std::int64_t at) { ring_.add(CallNumber::klseek, time(5), {5, 1}, {at, 0, at}); }
  void write_at(std::int64_t file, std::int64_t at, std::int64_t bytes, std::int64_t type_bytes) {
    inner(at, bytes);
    ring_.add(CallNumber::kMPI_File_write_at, time(40), {},
              {file, at, bytes / type_bytes, kType, 0, type_bytes});
  }
  void write_on(std::int64_t file, std::int64_t bytes, std::int64_t result = 0) {
    ring_.add(CallNumber::kMPI_File_write, time(40), {}, {file, bytes, kType, result, 1});
  }
  void read_on(std::int64_t file, std::int64_t bytes) {
    ring_.add(CallNumber::kMPI_File_read, time(40), {}, {file, bytes, kType, 0, 1});
  }
  void end_batch() {
    batches_.push_back(
        made::encoded(ring_.bytes(), 0, static_cast<std::uint32_t>(batches_.size())));
    ring_ = {};
  }
  std::vector<std::byte> trace() const {
    auto trace = made::trace_head();
    made::add_block(trace, BlockType::kProcess, made::bytes_of(made::process_text(100, 0)));
    for (const auto& batch : batches_) made::add_block(trace, BlockType::kEvents, batch);
    made::add_block(trace, BlockType::kEnd, made::bytes_of("end=exit\n"));
    return trace;
  }

 private:
  made::RecordTimes time(std::uint64_t duration) { return {now_ += 100, duration}; }
  void control(CallNumber number, std::vector<std::int64_t> numbers, const std::string& text = {},
               std::vector<std::int64_t> keys = {}) {
    ring_.add(number, time(5), std::move(keys), std::move(numbers), text, true);
  }
  void note(std::int64_t number, std::int64_t handle, std::int64_t layer, const std::string& path) {
    ring_.add(CallNumber::kiotune_file, time(0), {number}, {handle, layer}, path, true);
  }
  // What MPI-IO does for a transfer.
  void inner(std::int64_t at, std::int64_t bytes) {
    ring_.add(CallNumber::kpwrite, time(10), {6, 9}, {bytes, at, bytes}, {}, false, kInMpi);
  }

  std::uint64_t now_ = 1000;
  RingBytes ring_;
  std::vector<std::vector<std::byte>> batches_;
};

// A batch without calls whose order matters, or with one or the other of them.
void add_drawn_batch(Process& process, std::mt19937_64& draw) {
  const auto one_of = [&](std::uint64_t count) {
    return static_cast<std::int64_t>(draw() % count);
  };
  const std::int64_t kinds = one_of(64), step = 8 * (1 + one_of(3)), bytes = 8 * (1 + one_of(2));
  const bool drawn_places = one_of(2) == 0;
  std::int64_t at = 8 * one_of(100);
  for (int i = 0; i < 60; ++i) {
    at = drawn_places ? 8 * one_of(400) : at + step;
    if ((kinds & 1) != 0) process.pwrite(at, i % 20 == 3 && kinds == 5 ? -1 : bytes);
    if ((kinds & 2) != 0) process.write_at(kFile, at, bytes, kinds == 6 && i % 2 == 0 ? 1 : 8);
    if ((kinds & 4) != 0) process.seek(at);
    if ((kinds & 8) != 0) process.write_on(kFile, bytes, kinds == 9 && i % 7 == 0 ? 1 : 0);
    if ((kinds & 16) != 0) process.write_at(i % 5 == 0 ? kOther : kFile, at, bytes, 1);
    if ((kinds & 40) == 40) process.read_on(kFile, bytes);
    if (kinds == 33) process.write_at(kUnseen, at, bytes, 1);
    if (kinds == 32) process.write_on(i % 2 == 0 ? kOther : kFile, bytes);
  }
  if (kinds == 0) process.seek(at);
  if (one_of(8) == 0) process.open();
  process.end_batch();
}

std::string by_batches(const std::string& path) {
  Result<ResumableSummary> summary = ResumableSummary::open(path, 0);
  if (!summary || !summary->go_on([] { return false; })) return "broken";
  return to_json(summary->finish());
}

std::string in_steps(const std::string& path) {
  std::string state;
  for (;;) {
    Result<ResumableSummary> summary = ResumableSummary::open(path, 0);
    if (!summary || (!state.empty() && !summary->restore(state))) return "broken";
    if (summary->go_on([] { return true; })) return to_json(summary->finish());
    state = summary->state();
  }
}

TEST(BatchTotals, DrawnBatchesAreWhatTheirCallsAre) {
  const made::Folder folder;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 draw(seed);
    Process process;
    process.open();
    process.end_batch();
    for (int batch = 0; batch < 6; ++batch) add_drawn_batch(process, draw);
    process.close();
    process.end_batch();
    const std::string path = folder.file("t.iotrace", process.trace());
    const Result<RunSummary> whole = summarize(path);
    ASSERT_TRUE(whole) << whole.error().text();
    ASSERT_EQ(by_batches(path), to_json(*whole)) << "seed " << seed;
    ASSERT_EQ(in_steps(path), to_json(*whole)) << "seed " << seed;
  }
}

TEST(BatchTotals, RowsOfHdf5AreWhatTheirCallsAre) {
  const made::Folder folder;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 draw(seed);
    const auto one_of = [&](std::uint64_t count) {
      return static_cast<std::int64_t>(draw() % count);
    };
    Process process;
    process.open_hdf5();
    process.end_batch();
    for (int batch = 0; batch < 4; ++batch) {
      const std::int64_t id = kRows + one_of(2), step = one_of(5) - 1;
      process.write_rows(id, 100 + 40 * batch, step, 40, one_of(2) == 0);
      if (one_of(3) == 0) process.write_rows(id, 3 * one_of(30), 1 + one_of(3), 9, true);
      process.end_batch();
    }
    process.close_hdf5();
    process.end_batch();
    const std::string path = folder.file("t.iotrace", process.trace());
    const Result<RunSummary> whole = summarize(path);
    ASSERT_TRUE(whole) << whole.error().text();
    ASSERT_EQ(whole->files.size(), 1U);
    ASSERT_GE(whole->files[0].datasets.size(), 1U);
    ASSERT_EQ(by_batches(path), to_json(*whole)) << "seed " << seed;
    ASSERT_EQ(in_steps(path), to_json(*whole)) << "seed " << seed;
  }
}

// Call by call the time would be asked for once in 256 of them.
TEST(BatchTotals, ABlockOfRowsIsOneStep) {
  const made::Folder folder;
  Process process;
  process.open_hdf5();
  process.end_batch();
  for (int batch = 0; batch < 10; ++batch) {
    process.write_rows(kRows, 1000 * batch, 1, 1000, true);
    process.end_batch();
  }
  process.close_hdf5();
  process.end_batch();
  const std::string path = folder.file("t.iotrace", process.trace());
  Result<ResumableSummary> summary = ResumableSummary::open(path, 0);
  ASSERT_TRUE(summary);
  int asked = 0;
  ASSERT_TRUE(summary->go_on([&] { return ++asked < 0; }));
  EXPECT_LE(asked, 10 + 3);
}

// Call by call the time would be asked for some 140 times.
TEST(BatchTotals, ABlockOfTransfersIsOneStep) {
  constexpr int kBatches = 20;
  const made::Folder folder;
  std::mt19937_64 draw(1);
  Process process;
  process.open();
  process.end_batch();
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int i = 0; i < 900; ++i) {
      process.write_at(kFile, static_cast<std::int64_t>(16 * (draw() % 100000)), 16, 1);
    }
    process.end_batch();
  }
  process.close();
  process.end_batch();
  const std::string path = folder.file("t.iotrace", process.trace());
  Result<ResumableSummary> summary = ResumableSummary::open(path, 0);
  ASSERT_TRUE(summary);
  int asked = 0;
  ASSERT_TRUE(summary->go_on([&] { return ++asked < 0; }));
  EXPECT_LE(asked, kBatches + 3);
  const RunSummary whole = summary->finish();
  EXPECT_EQ(whole.calls, 2U * 900 * kBatches + 8);
  EXPECT_EQ(to_json(whole), to_json(*summarize(path)));
}

}  // namespace
}  // namespace iotune::analyzer
