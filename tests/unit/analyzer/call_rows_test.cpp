#include "analyzer/calls/call_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analyzer/calls/call_columns.h"
#include "recorder/read/format_call.h"
#include "recorder/read/trace_reader.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

using recorder::BlockType;
using recorder::CallFilter;
using recorder::CallNumber;
using recorder::made::add_block;
using recorder::made::bytes_of;
using recorder::made::encoded;
using recorder::made::Folder;
using recorder::made::process_text;
using recorder::made::RingBytes;

constexpr std::uint8_t kInMpi = 1U << 1U;

// An open with its note, then `count` MPI-IO calls, each around two of POSIX.
RingBytes nested(std::uint64_t start, int count, const std::string& path) {
  RingBytes ring;
  ring.add(CallNumber::kopen, {start, 5}, {}, {2, 0, 4}, path, true);
  ring.add(CallNumber::kiotune_file, {start + 6, 0}, {1}, {4, 3}, path, true);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t at = start + 100 + 100 * static_cast<std::uint64_t>(i);
    ring.add(CallNumber::kpwrite, {at + 10, 5}, {4, 1}, {64, 64 * i, 64}, {}, false, kInMpi);
    ring.add(CallNumber::kpread, {at + 20, 5}, {4, 1}, {64, 64 * i, 64}, {}, false, kInMpi);
    ring.add(CallNumber::kMPI_File_sync, {at, 50}, {}, {7, 0}, {}, true);
  }
  return ring;
}

std::vector<std::byte> trace_bytes() {
  std::vector<std::byte> bytes = recorder::made::trace_head();
  for (int rank = 0; rank < 2; ++rank) {
    const std::uint64_t shift = 30U * static_cast<std::uint64_t>(rank);
    add_block(bytes, BlockType::kProcess, bytes_of(process_text(100 + rank, rank)));
    add_block(bytes, BlockType::kEvents, encoded(nested(1000 + shift, 3, "/a/one.h5").bytes()));
    add_block(bytes, BlockType::kEvents,
              encoded(nested(2000 + shift, 2, "/a/two.dat").bytes(), 0, 1));
    add_block(bytes, BlockType::kEvents,
              encoded(nested(1500 + shift, 4, "/b/three.h5").bytes(), 1, 0));
    add_block(bytes, BlockType::kEnd, bytes_of("end=exit\n"));
  }
  return bytes;
}

std::vector<std::string> rows_of(const std::string& path, CallFilter filter) {
  auto rows = CallRows::open(path, std::move(filter));
  EXPECT_TRUE(rows);
  std::vector<std::string> texts;
  CallRow row{};
  while ((*rows)->next(row)) {
    texts.push_back(
        std::to_string(row.rank) + ' ' + std::to_string(row.call->thread) + ' ' +
        std::to_string(row.start_ns) + ' ' + recorder::format_call(*row.call) + ' ' +
        (row.file < 0 ? std::string("-") : (*rows)->files()[static_cast<std::size_t>(row.file)]));
  }
  EXPECT_TRUE((*rows)->losses().empty());
  return texts;
}

TEST(CallRows, AreTheCallsThatAreReadWhole) {
  const Folder folder;
  const auto path = folder.file("a.iotrace", trace_bytes());
  const auto reader = recorder::TraceReader::open(path);
  ASSERT_TRUE(reader);
  for (std::size_t i = 0; i < 2; ++i) {
    const recorder::ProcessCalls process = reader->read(i);
    const CallOwners owners = owners_of(process);
    std::vector<std::string> expected;
    // What runs within a call starts no earlier and ends no later.
    std::vector<std::size_t> order(process.calls.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t at) {
      return std::pair(process.calls[at].start_ns, UINT64_MAX - process.calls[at].end_ns());
    });
    for (const std::size_t at : order) {
      const recorder::Call& call = process.calls[at];
      const std::int32_t file = owners.file_of_call[at];
      expected.push_back(std::to_string(i) + ' ' + std::to_string(call.thread) + ' ' +
                         std::to_string(call.start_ns - 1000) + ' ' + recorder::format_call(call) +
                         ' ' + (file < 0 ? "-" : owners.files[static_cast<std::size_t>(file)]));
    }
    CallFilter filter;
    filter.ranks = {{static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)}};
    EXPECT_EQ(rows_of(path, filter), expected);
    EXPECT_EQ(expected.size(), 33U);
  }
}

TEST(CallRows, OfAllRanksComeByTime) {
  const Folder folder;
  const auto path = folder.file("a.iotrace", trace_bytes());
  const std::vector<std::string> rows = rows_of(path, {});
  ASSERT_EQ(rows.size(), 66U);
  EXPECT_TRUE(rows[0].starts_with("0 0 0 open"));
  EXPECT_TRUE(rows[1].starts_with("0 0 6 iotune_file"));
  EXPECT_TRUE(rows[2].starts_with("1 0 30 open"));
  EXPECT_TRUE(rows[4].starts_with("0 0 100 MPI_File_sync"));
  EXPECT_TRUE(rows[5].starts_with("0 0 110 pwrite"));
}

TEST(CallRows, AFilterLeavesOutTheRest) {
  const Folder folder;
  const auto path = folder.file("a.iotrace", trace_bytes());
  const auto count = [&](auto set) {
    CallFilter filter;
    set(filter);
    return rows_of(path, filter).size();
  };
  EXPECT_EQ(count([](CallFilter& f) { f.ranks = {{1, 5}}; }), 33U);
  EXPECT_EQ(count([](CallFilter& f) { f.ranks = {{2, 5}}; }), 0U);
  EXPECT_EQ(count([](CallFilter& f) { f.layers = 1U << 1U; }), 18U);
  EXPECT_EQ(count([](CallFilter& f) { f.layers = 1U << 1U | 1U << 4U; }), 24U);
  EXPECT_EQ(count([](CallFilter& f) { f.names = {"p*"}; }), 36U);
  EXPECT_EQ(count([](CallFilter& f) { f.names = {"pwrite", "open"}; }), 24U);
  EXPECT_EQ(count([](CallFilter& f) {
              f.files = {"*.h5"};
              f.names = {"open"};
            }),
            4U);
  EXPECT_EQ(count([](CallFilter& f) {
              f.files = {"two.dat"};
              f.names = {"open"};
            }),
            2U);
  EXPECT_EQ(count([](CallFilter& f) { f.files = {"wo.dat"}; }), 0U);
  EXPECT_EQ(count([](CallFilter& f) { f.until_ns = 7; }), 2U);
  EXPECT_EQ(count([](CallFilter& f) {
              f.from_ns = 100;
              f.until_ns = 111;
            }),
            2U);
  EXPECT_EQ(count([](CallFilter& f) { f.from_ns = 1u << 30u; }), 0U);
}

// What a checksum cannot exclude: every byte of a batch is another, under a good checksum.
TEST(CallRows, DamageUnderAGoodChecksumIsSurvived) {
  const Folder folder;
  std::vector<CallColumn> columns;
  for (std::size_t i = 0; i < kCallColumns; ++i) columns.push_back(static_cast<CallColumn>(i));
  for (const bool every_time : {true, false}) {
    const auto payload = encoded(nested(1000, 40, "/a/one.h5").bytes(), 0, 0, every_time);
    std::mt19937 random(7);
    std::size_t survived = 0;
    for (std::size_t at = 0; at < payload.size(); ++at) {
      auto damaged = payload;
      damaged[at] ^= static_cast<std::byte>(1U + random() % 255U);
      auto bytes = recorder::made::trace_head();
      add_block(bytes, BlockType::kProcess, bytes_of(process_text(100, 0)));
      add_block(bytes, BlockType::kEvents, damaged);
      auto rows = CallRows::open(folder.file("a.iotrace", bytes), {});
      ASSERT_TRUE(rows);
      CallColumnReader reader(std::move(*rows), columns);
      std::size_t total = 0;
      while (const std::size_t more = reader.next(100).rows) total += more;
      survived += total > 0 ? 1 : 0;
      EXPECT_TRUE(total > 0 || !reader.rows().losses().empty());
    }
    EXPECT_GT(survived, 0U);
  }
}

TEST(CallColumns, SayWhatACallMoved) {
  const Folder folder;
  auto bytes = recorder::made::trace_head();
  RingBytes ring;
  ring.add(CallNumber::kpwrite, {10, 5}, {4, 1}, {64, 128, 64});
  ring.add(CallNumber::kpwrite, {20, 5}, {4, 1}, {64, 192, -1});
  ring.add(CallNumber::kMPI_File_sync, {30, 5}, {}, {7, 0});
  add_block(bytes, BlockType::kProcess, bytes_of(process_text(100, 0)));
  add_block(bytes, BlockType::kEvents, encoded(ring.bytes()));
  auto rows = CallRows::open(folder.file("a.iotrace", bytes), {});
  ASSERT_TRUE(rows);
  CallColumnReader reader(std::move(*rows), {CallColumn::kOffset, CallColumn::kLength,
                                             CallColumn::kResult, CallColumn::kArguments});
  const CallBatchColumns batch = reader.next(10);
  ASSERT_EQ(batch.rows, 3U);
  const auto column = [&](CallColumn one) { return batch.large[static_cast<std::size_t>(one)]; };
  EXPECT_EQ(column(CallColumn::kOffset), (std::vector<std::int64_t>{128, 192, kMissing}));
  EXPECT_EQ(column(CallColumn::kLength), (std::vector<std::int64_t>{64, kMissing, kMissing}));
  EXPECT_EQ(column(CallColumn::kResult), (std::vector<std::int64_t>{64, -1, 0}));
  const auto at = static_cast<std::size_t>(CallColumn::kArguments);
  EXPECT_EQ(batch.bytes[at].substr(0, static_cast<std::size_t>(batch.offsets[at][1])),
            R"({"fd": 4, "count": 64, "offset": 128})");
}

}  // namespace
}  // namespace iotune::analyzer
