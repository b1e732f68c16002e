#include "analyzer/calls/file_view.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "analyzer/calls/mpi_accesses.h"
#include "recorder/call_table.h"

namespace iotune::analyzer {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kFile = 7, kInt = 99;

// Calls of one process, in their order.
class Calls {
 public:
  void add(const char* name, Numbers numbers) {
    auto stream = std::make_unique<recorder::CallStream>();
    stream->name = name;
    stream->signature = recorder::find_call(name);
    ASSERT_NE(stream->signature, nullptr) << name;
    stream->texts.resize(4);
    stream->numbers = std::move(numbers);
    process_.calls.push_back({stream.get(), stream->numbers, 0, 0, 0, true});
    process_.streams.push_back(std::move(stream));
  }
  // head: displacement, bytes of an element, of data in a tile, of a tile, kind
  void view(Numbers head, const Numbers& layout) {
    head.insert(head.begin(), kFile);
    head.push_back(static_cast<std::int64_t>(layout.size()));
    head.insert(head.end(), layout.begin(), layout.end());
    add("iotune_view", std::move(head));
  }
  std::string last() const {
    MpiAccesses accesses;
    std::optional<FileExtents> found;
    for (const recorder::Call& call : process_.calls) found = accesses.follow(call, 3);
    return found ? extents_text(*found) : "no transfer";
  }
  std::string located(std::uint64_t position, std::uint64_t bytes) const {
    const auto arguments = recorder::arguments_of(process_.calls.back());
    return extents_text(FileView::of(*arguments).locate(position, bytes, 3));
  }

 private:
  recorder::ProcessCalls process_;
};

std::string located(const Numbers& head, const Numbers& layout, std::uint64_t position,
                    std::uint64_t bytes) {
  Calls calls;
  calls.view(head, layout);
  return calls.located(position, bytes);
}

TEST(FileView, RunsRepeatWithTheTile) {
  const Numbers head{100, 4, 12, 50, 2}, layout{0, 4, 10, 2, 20, 4, 0, 1};
  EXPECT_EQ(located(head, layout, 0, 12), " [at 100+4 110+4 120+4]");
  EXPECT_EQ(located(head, layout, 6, 8), " [at 112+2 120+4 150+2]");
  EXPECT_EQ(located(head, layout, 0, 60), " [at 100+4 110+4 120+4 ...]");
}

TEST(FileView, NeighboursAreOne) {
  EXPECT_EQ(located({0, 1, 4, 8, 2}, {4, 4, 0, 1}, 2, 4), " [at 6+2 12+2]");
  EXPECT_EQ(located({0, 1, 4, 4, 2}, {0, 2, 2, 2}, 0, 4000), " [at 0+4000]");
  EXPECT_EQ(located({0, 1, 4, 4, 0}, {}, 3, 4000), " [at 3+4000]");
}

TEST(FileView, SubarrayOfThreeDimensions) {
  const Numbers head{0, 4, 4 * 2 * 2 * 3, 4 * 4 * 5 * 6, 1};
  const Numbers layout{4, 4, 5, 6, 2, 2, 3, 1, 2, 3};  // sizes 4 5 6, subsizes 2 2 3, starts 1 2 3
  // (1·5 + 2)·6 + 3 = 45 elements before the first, rows of 6, planes of 30.
  EXPECT_EQ(located(head, layout, 0, 36), " [at 180+12 204+12 300+12]");
  EXPECT_EQ(located(head, layout, 16, 12), " [at 208+8 300+4]");
}

TEST(FileView, WhatDoesNotFitTogetherIsUnknown) {
  const char* const unknown = " [at ?: its view contradicts itself]";
  EXPECT_EQ(located({0, 4, 13, 50, 2}, {0, 4, 10, 3}, 0, 4), unknown);
  EXPECT_EQ(located({-1, 4, 12, 50, 2}, {0, 4, 10, 3}, 0, 4), unknown);
  EXPECT_EQ(located({0, 0, 12, 50, 2}, {0, 4, 10, 3}, 0, 4), unknown);
  EXPECT_EQ(located({0, 4, 12, 50, 2}, {0, 4, 10}, 0, 4), unknown);
  EXPECT_EQ(located({0, 4, 12, 50, 1}, {4, 2, 5, 3}, 0, 4), unknown);
  EXPECT_EQ(located({0, 4, 12, 50, 0}, {}, 0, 4), unknown);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(located({0, 4, 12, 50, 2}, {0, most, 1, most}, 0, 4), unknown);
  EXPECT_EQ(located({0, 4, 12, 50, 1}, {most, most, most, 0}, 0, 4), unknown);
  EXPECT_EQ(located({0, 4, 12, 50, 9}, {}, 0, 4), " [at ?: its view could not be decoded]");
  EXPECT_EQ(located({0, 1, 0, 8, 2}, {}, 0, 4), " [at ?: its view holds no data]");
  // Ends, whatever a trace claims.
  EXPECT_NE(located({0, 1, 1, 1, 2}, {0, 1, 0, 1}, 0, 1ULL << 62U).find("..."), std::string::npos);
}

TEST(FileView, BehindTheFirstRunsNothingIsKnown) {
  EXPECT_EQ(located({0, 1, 100, 500, 3}, {0, 4, 10, 2}, 2, 20),
            " [at 2+2 10+4 ?: its view is too irregular to be kept whole]");
}

TEST(MpiAccesses, PointersMoveByWhatWasAskedFor) {
  Calls calls;
  calls.add("MPI_File_open", {1, 9, 2, kFile, 0});
  calls.add("MPI_File_write", {kFile, 10, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 0+40]");
  calls.add("MPI_File_seek", {kFile, 5, 602, 0});
  calls.add("MPI_File_iwrite", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 45+4]");
  calls.add("MPI_File_write_at_all", {kFile, 1000, 2, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 1000+8]");
  calls.add("MPI_File_read_all_begin", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 49+4]");
  calls.add("MPI_File_read_shared", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at ?: a shared file pointer]");
  calls.add("MPI_File_seek", {kFile, 0, 604, 0});  // as earlier builds recorded it
  calls.add("MPI_File_write", {kFile, 10, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at ?: the file pointer's place is not in the trace]");
  calls.add("MPI_File_seek", {kFile, -4, 604, 0, 2000});
  calls.add("MPI_File_write", {kFile, 10, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 2000+40]");
  calls.add("MPI_File_seek", {kFile, 8, 600, 0});
  calls.add("MPI_File_write", {kFile, 10, kInt, 1, -1});
  EXPECT_EQ(calls.last(), " [at ?: the call failed]");
}

TEST(MpiAccesses, AViewHoldsUntilTheNext) {
  Calls calls;
  calls.add("MPI_File_open", {1, 9, 2, kFile, 0});
  calls.add("MPI_File_set_view", {kFile, 100, kInt, 5, 2, 0});
  calls.view({100, 4, 8, 24, 2}, {0, 4, 8, 2});
  calls.add("MPI_File_write", {kFile, 3, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 100+4 108+4 124+4]");
  calls.add("MPI_File_write_at", {kFile, 1, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 108+4]");
  calls.add("MPI_File_write", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 132+4]");
  // A view that iotune did not look into, as HDF5's.
  calls.add("MPI_File_set_view", {kFile, 0, kInt, 5, 2, 0});
  calls.add("MPI_File_write_at", {kFile, 1, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at ?: its view was not recorded]");
  calls.add("MPI_File_close", {kFile, 0});
  EXPECT_EQ(calls.last(), "no transfer");
  calls.add("MPI_File_open", {1, 128, 2, kFile, 0});
  calls.add("MPI_File_write", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at ?: the file pointer's place is not in the trace]");
  calls.add("MPI_File_open", {1, 128, 2, kFile, 0, 77});
  calls.add("MPI_File_write", {kFile, 1, kInt, 0, 4});
  EXPECT_EQ(calls.last(), " [at 77+4]");
}

}  // namespace
}  // namespace iotune::analyzer
