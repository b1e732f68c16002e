// What is said of ranks that share blocks must be what is said of them one by one.
#include "analyzer/summary/alike_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "analyzer/summary/summarize.h"
#include "recorder/trace_block_merge.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

using recorder::BlockType;
using recorder::CallNumber;
using recorder::kMergeRoom;
namespace made = recorder::made;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kRanks = 24;

struct RankBlocks {
  Bytes process, events, end;
};

// Writes rows of a 2D dataset on a grid of 4 by 6 (or only its own run of it), and pieces of a file
// of bytes from its end on. `odd`: a rank that does something else.
RankBlocks blocks_of(std::int64_t rank, bool grid, bool odd) {
  made::RingBytes ring;
  std::uint64_t now = 1000;
  const auto add = [&](CallNumber call, std::vector<std::int64_t> keys,
                       std::vector<std::int64_t> numbers, const std::string& text = {},
                       bool control = false, std::uint8_t layers = 0) {
    ring.add(call, {now += 50, 20}, std::move(keys), std::move(numbers), text, control, layers);
  };
  add(CallNumber::kiotune_file, {1}, {16777216, 0}, "/x.h5", true, 1);
  std::string names = "/x.h5";
  names += '\0';
  names += "/d";
  add(CallNumber::kiotune_dataset, {1}, {83886080, 4, 1, 1, 0, 2, 40, 60, -1}, names, true, 1);
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t row = grid ? 10 * (rank / 6) : 0, column = grid ? 10 * (rank % 6) : 2 * rank;
    const std::int64_t rows = grid ? 10 : 40, columns = grid ? 10 : 2;
    add(CallNumber::kH5Dwrite, {}, {83886080, 5, 6,   7,      0, 0, 1, 0, 4,    rows * columns,
                                    2,        2, row, column, 1, 1, 1, 1, rows, columns});
  }
  if (odd) add(CallNumber::kH5Fflush, {}, {16777216, 1, 0});
  add(CallNumber::kiotune_file, {2}, {5, 3}, "/p", true, 8);
  for (std::int64_t i = 0; i < 5; ++i) {
    add(CallNumber::kpwrite, {5, 2}, {100, 100 * (kRanks * i + kRanks - 1 - rank), 100});
  }
  const std::string calls = std::to_string(ring.calls());
  return {made::bytes_of("pid=" + std::to_string(100 + rank * rank) + "\nhost=made\nrun=r\nrank=" +
                         std::to_string(rank) + "\nsize=" + std::to_string(kRanks) +
                         "\nprogram=/opt/a\nstart_ticks=0\nwall_ns=" +
                         std::to_string(1'000'000'000'000 + rank * rank) + "\n"),
          made::encoded(ring.bytes(), 0, 0, false),
          made::bytes_of("end=finalize\ncalls=" + calls + "\ndropped=0\n")};
}

Bytes leaf(const RankBlocks& blocks, std::int64_t rank) {
  std::vector<std::uint64_t> scratch(recorder::rank_block_scratch_bytes() / 8 + 1);
  Bytes message(65536);
  patterns::ByteWriter out(message);
  const auto add = [&](BlockType type, const Bytes& payload) {
    if (!recorder::add_rank_block(type, payload, 0, static_cast<std::uint64_t>(rank),
                                  std::as_writable_bytes(std::span(scratch)), out)) {
      throw std::runtime_error("a block was refused");
    }
  };
  add(BlockType::kProcess, blocks.process);
  add(BlockType::kEvents, blocks.events);
  add(BlockType::kEnd, blocks.end);
  message.resize(out.bytes_used());
  return message;
}

Bytes merged(const std::vector<RankBlocks>& ranks, std::size_t first, std::size_t count) {
  if (count == 1) return leaf(ranks[first], static_cast<std::int64_t>(first));
  const Bytes mine = merged(ranks, first, count / 2);
  const Bytes other = merged(ranks, first + count / 2, count - count / 2);
  Bytes both(kMergeRoom * (mine.size() + other.size()));
  std::vector<std::uint64_t> scratch(recorder::merge_rank_blocks_scratch_bytes(mine, other) / 8 +
                                     1);
  both.resize(
      recorder::merge_rank_blocks(mine, other, std::as_writable_bytes(std::span(scratch)), both));
  if (both.empty()) throw std::runtime_error("a merge failed");
  return both;
}

Bytes shared_trace(const std::vector<RankBlocks>& ranks) {
  Bytes trace = made::trace_head();
  const Bytes message = merged(ranks, 0, ranks.size());
  recorder::RankBlockCursor cursor(message);
  while (cursor.next()) {
    made::add_block(trace, BlockType::kShared,
                    Bytes(cursor.payload().begin(), cursor.payload().end()));
  }
  return trace;
}

Bytes separate_trace(const std::vector<RankBlocks>& ranks) {
  Bytes trace = made::trace_head();
  for (const RankBlocks& rank : ranks) {
    made::add_block(trace, BlockType::kProcess, rank.process);
    made::add_block(trace, BlockType::kEvents, rank.events);
    made::add_block(trace, BlockType::kEnd, rank.end);
  }
  return trace;
}

void compare(const std::vector<RankBlocks>& ranks, const std::string& hdf5,
             const std::string& bytes) {
  const made::Folder folder;
  const std::string shared_path = folder.file("s.iotrace", shared_trace(ranks));
  const Result<RunSummary> shared = summarize(shared_path);
  const Result<RunSummary> separate = summarize(folder.file("t.iotrace", separate_trace(ranks)));
  ASSERT_TRUE(shared && separate);
  EXPECT_TRUE(shared->warnings.empty()) << shared->warnings.front();
  EXPECT_EQ(shared->calls, separate->calls);
  EXPECT_EQ(shared->ranks, separate->ranks);
  EXPECT_NEAR(shared->start_unix_seconds, separate->start_unix_seconds, 1e-6);
  ASSERT_EQ(shared->files.size(), 2U);
  for (std::size_t f = 0; f < 2; ++f) {
    const FilePattern &a = shared->files[f], &b = separate->files[f];
    EXPECT_EQ(a.path, b.path);
    EXPECT_EQ(a.bytes_written, b.bytes_written);
    ASSERT_EQ(a.datasets.size(), 1U);
    const DatasetPattern &one = a.datasets[0], &two = b.datasets.at(0);
    EXPECT_EQ(one.descriptor.text(), f == 0 ? hdf5 : bytes);
    EXPECT_EQ(one.descriptor.text(), two.descriptor.text());
    EXPECT_EQ(one.process_grid, two.process_grid);
    EXPECT_EQ(one.dataset_dims, two.dataset_dims);
    EXPECT_EQ(one.ranks, two.ranks);
    EXPECT_EQ(one.calls, two.calls);
    EXPECT_EQ(one.bytes, two.bytes);
    EXPECT_EQ(one.repeats, two.repeats);
  }
}

// The most that are taken together. The first and the last rank's numbers may be of other lengths.
std::size_t most_alike(const std::vector<RankBlocks>& ranks) {
  const made::Folder folder;
  const auto reader = recorder::TraceReader::open(folder.file("s.iotrace", shared_trace(ranks)));
  std::size_t most = 0;
  for (std::size_t i = 0; i < reader->process_count(); ++i) {
    most = std::max(most, AlikeRanks(*reader, i).size());
  }
  return most;
}

TEST(AlikeRanks, AreSummarisedAsOneByOne) {
  std::vector<RankBlocks> columns, grid, odd;
  for (std::int64_t r = 0; r < kRanks; ++r) {
    columns.push_back(blocks_of(r, false, false));
    grid.push_back(blocks_of(r, true, false));
    odd.push_back(blocks_of(r, false, r == 9));
  }
  EXPECT_GE(most_alike(columns), 20U);
  EXPECT_GE(most_alike(odd), 8U);
  compare(columns, "<2D,(*,BLOCK),(40,2)>", "<1D,(CYCLIC(100)),(500)>");
  compare(grid, "<2D,(BLOCK,BLOCK),(10,10)>", "<1D,(CYCLIC(100)),(500)>");
  compare(odd, "<2D,(*,BLOCK),(40,2)>", "<1D,(CYCLIC(100)),(500)>");
}

}  // namespace
}  // namespace iotune::analyzer
