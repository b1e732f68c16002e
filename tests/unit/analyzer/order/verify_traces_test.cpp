// Traces with recorded order, from calls to verdicts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/order/models/verdicts.h"
#include "recorder/call_table.h"
#include "recorder/read/trace_blocks/trace_index.h"
#include "recorder/write/trace_writer.h"

namespace iotune::analyzer {
namespace {

constexpr std::int64_t kMpichWorld = 0x44000000;

class MadeTrace {
 public:
  explicit MadeTrace(std::size_t ranks)
      : path_(std::filesystem::temp_directory_path() /
              ("verify-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".iotrace")),
        writer_(path_, recorder::KeptTimes::kExact, true) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      writer_.add_process({{"rank", std::to_string(rank)},
                           {"size", std::to_string(ranks)},
                           {"host", "n"},
                           {"pid", std::to_string(100 + rank)},
                           {"parent", "1"},
                           {"run", "r"},
                           {"mpi", "MPICH"},
                           {"order", "yes"}});
    }
  }
  ~MadeTrace() { std::filesystem::remove(path_); }
  MadeTrace(const MadeTrace&) = delete;

  using Words = std::map<std::string_view, std::vector<std::int64_t>>;

  // Words by their names; all others are 0.
  void call(std::uint32_t rank, std::string_view name, const Words& words = {},
            std::string_view text = {}) {
    const recorder::CallSignature* const signature = recorder::find_call(name);
    ASSERT_NE(signature, nullptr) << name;
    std::vector<std::int64_t> keys, numbers;
    const auto word = [&](std::string_view of) {
      const auto found = words.find(of);
      return found == words.end() ? std::vector<std::int64_t>{} : found->second;
    };
    const auto number = [&](std::string_view of) {
      const std::vector<std::int64_t> found = word(of);
      numbers.push_back(found.empty() ? 0 : found[0]);
    };
    for (const recorder::ArgumentSignature& argument : signature->arguments) {
      if (argument.form == recorder::ArgumentForm::kKey) {
        keys = {5, 1};
      } else if (argument.form == recorder::ArgumentForm::kNumber) {
        number(argument.name);
      } else if (argument.form == recorder::ArgumentForm::kArray) {
        const std::vector<std::int64_t> values = word(argument.name);
        numbers.push_back(static_cast<std::int64_t>(values.size()));
        numbers.insert(numbers.end(), values.begin(), values.end());
      }
    }
    number("result");
    for (const std::string_view extra : signature->extras) number(extra);
    add(rank, *signature, keys, numbers, text);
  }

  void open(std::uint32_t rank, std::int64_t flags = 2, std::string_view path = "/scratch/shared") {
    call(rank, "open", {{"flags", {flags}}, {"result", {5}}}, path);
    const recorder::CallSignature* const note = recorder::find_call("iotune_file");
    add(rank, *note, {1}, {5, 3}, path);
  }
  void open_mpi(std::uint32_t rank, std::int64_t handle) {
    call(rank, "MPI_File_open", {{"comm", {kMpichWorld}}, {"file", {handle}}}, "/scratch/shared");
    const recorder::CallSignature* const note = recorder::find_call("iotune_file");
    add(rank, *note, {10 + handle}, {handle, 1}, "/scratch/shared");
  }
  void move_mpi(std::uint32_t rank, std::string_view name, std::int64_t handle,
                std::int64_t offset) {
    call(rank, name,
         {{"file", {handle}}, {"offset", {offset}}, {"count", {8}}, {"type_bytes", {1}}});
  }
  void write(std::uint32_t rank, std::int64_t offset) {
    call(rank, "pwrite", {{"count", {8}}, {"offset", {offset}}, {"result", {8}}});
  }
  void read(std::uint32_t rank, std::int64_t offset) {
    call(rank, "pread", {{"count", {8}}, {"offset", {offset}}, {"result", {8}}});
  }
  void barrier(std::uint32_t rank) { call(rank, "MPI_Barrier", {{"comm", {kMpichWorld}}}); }

  TraceVerdict verdict() {
    EXPECT_TRUE(writer_.finish());
    const auto index = recorder::index_trace(path_);
    EXPECT_TRUE(index);
    return verify_traces(std::span(&*index, 1));
  }

 private:
  void add(std::uint32_t rank, const recorder::CallSignature& signature,
           const std::vector<std::int64_t>& keys, const std::vector<std::int64_t>& numbers,
           std::string_view text) {
    recorder::NewCall made;
    made.function = static_cast<std::uint16_t>(&signature - recorder::call_table().data());
    made.keys = keys;
    made.numbers = numbers;
    made.text = text;
    made.start_ns = 1'700'000'000'000'000'000 + (now_ += 10);
    made.duration_ns = 5;
    ASSERT_TRUE(writer_.add(rank, 0, made)) << signature.name;
  }

  std::string path_;
  recorder::TraceWriter writer_;
  std::uint64_t now_ = 0;
};

using Wrong = std::vector<std::uint64_t>;

Wrong wrong_of(const TraceVerdict& verdict) {
  EXPECT_EQ(verdict.files.size(), 1U);
  if (verdict.files.empty()) return {};
  return {verdict.files[0].pairs, verdict.files[0].wrong[0], verdict.files[0].wrong[1],
          verdict.files[0].wrong[2], verdict.files[0].wrong[3]};
}

TEST(VerifyTraces, ARaceIsNamedWithWhatIsMissing) {
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) trace.open(rank);
  trace.write(0, 0);
  trace.read(1, 4);
  const TraceVerdict verdict = trace.verdict();
  EXPECT_TRUE(verdict.order_recorded);
  ASSERT_EQ(wrong_of(verdict), (Wrong{1, 1, 1, 1, 1}));
  const SiteConflicts& site = verdict.files[0].sites[0];
  EXPECT_EQ(site.first, "pwrite");
  EXPECT_EQ(site.second, "pread");
  EXPECT_EQ(site.models[0].missing,
            "nothing orders rank 0's pwrite and rank 1's pread: a barrier or a message between "
            "them");
}

TEST(VerifyTraces, ABarrierOrdersAndAnFsyncCommits) {
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) trace.open(rank);
  trace.write(0, 0);
  trace.write(0, 8);
  trace.call(0, "fsync");
  trace.write(0, 16);
  for (const std::uint32_t rank : {0U, 1U}) trace.barrier(rank);
  for (const std::int64_t offset : {0, 8, 16}) trace.read(1, offset);
  const TraceVerdict verdict = trace.verdict();
  ASSERT_EQ(wrong_of(verdict), (Wrong{3, 0, 1, 3, 3}));
  EXPECT_EQ(verdict.files[0].sites[0].models[1].missing,
            "rank 0's pwrite needs fsync, MPI_File_sync or a close before what orders it before "
            "rank 1's pread");
}

TEST(VerifyTraces, MessagesAreMatchedFromTheirRecordedWords) {
  MadeTrace trace(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) trace.open(rank);
  trace.write(0, 0);
  trace.call(0, "MPI_Send", {{"dest", {2}}, {"tag", {7}}, {"comm", {kMpichWorld}}});
  trace.call(2, "MPI_Irecv",
             {{"source", {-2}}, {"tag", {-1}}, {"comm", {kMpichWorld}}, {"request", {900}}});
  trace.call(2, "MPI_Waitall", {{"count", {1}}, {"requests", {900}}, {"statuses", {0, 7}}});
  trace.call(2, "MPI_Sendrecv",
             {{"dest", {1}},
              {"sendtag", {3}},
              {"source", {-1}},
              {"recvtag", {0}},
              {"comm", {kMpichWorld}},
              {"got_source", {-1}},
              {"got_tag", {-1}}});
  trace.read(1, 0);
  trace.call(1, "MPI_Recv",
             {{"source", {2}},
              {"tag", {3}},
              {"comm", {kMpichWorld}},
              {"got_source", {2}},
              {"got_tag", {3}}});
  trace.read(1, 0);
  const TraceVerdict verdict = trace.verdict();
  EXPECT_EQ(wrong_of(verdict), (Wrong{2, 1, 2, 2, 2}));
  EXPECT_TRUE(verdict.unknown.empty());
}

// Rank 0 writes, both call with that word, rank 1 reads.
bool orders(std::string_view name, std::string_view word, std::int64_t of_writer,
            std::int64_t of_reader) {
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) trace.open(rank);
  trace.write(0, 0);
  for (const std::uint32_t rank : {0U, 1U}) {
    trace.call(rank, name, {{"comm", {kMpichWorld}}, {word, {rank == 0 ? of_writer : of_reader}}});
  }
  trace.read(1, 0);
  return wrong_of(trace.verdict())[1] == 0;
}

TEST(VerifyTraces, CountsOfZeroOrderNothing) {
  EXPECT_TRUE(orders("MPI_Alltoallv", "recvcounts", 0, 1));  // bit 0: from rank 0
  EXPECT_FALSE(orders("MPI_Alltoallv", "recvcounts", 3, 2));
  EXPECT_TRUE(orders("MPI_Allgatherv", "recvcounts", 5, 0));
  EXPECT_FALSE(orders("MPI_Allgatherv", "recvcounts", 0, 5));
  EXPECT_TRUE(orders("MPI_Reduce_scatter", "recvcounts", 0, 5));
  EXPECT_FALSE(orders("MPI_Reduce_scatter", "recvcounts", 5, 0));
  EXPECT_TRUE(orders("MPI_Scatterv", "recvcount", 0, 5));
  EXPECT_FALSE(orders("MPI_Scatterv", "recvcount", 5, 0));
  EXPECT_TRUE(orders("MPI_Alltoall", "recvcount", 5, 5));
  EXPECT_FALSE(orders("MPI_Alltoall", "sendcount", 5, 5));  // in place: recvcount counts
}

TEST(VerifyTraces, NeighboursOnAGridAreFoundByItsExtents) {
  // 2 x 3 ranks, the second dimension a ring: rank 0 has the neighbours 1, 2 and 3.
  MadeTrace trace(6);
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    trace.call(rank, "MPI_Cart_create",
               {{"comm", {kMpichWorld}},
                {"dims", {2, 3}},
                {"periods", {0, 1}},
                {"reorder", {1}},
                {"newcomm", {77}},
                {"new_rank", {rank}},
                {"new_size", {6}},
                {"new_members", {9}}});
    trace.open(rank);
  }
  trace.write(0, 0);
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    trace.call(rank, "MPI_Neighbor_alltoall", {{"comm", {77}}, {"recvcount", {1}}});
    if (rank != 0) trace.read(rank, 0);
  }
  EXPECT_EQ(wrong_of(trace.verdict()), (Wrong{5, 2, 5, 5, 5}));
}

TEST(VerifyTraces, WhatIsStoredAtOnceIsACommit) {
  // Rank 0 writes with O_DSYNC, rank 1 without it; ranks 2 and 3 read.
  MadeTrace trace(4);
  trace.open(0, 010002);
  for (const std::uint32_t rank : {1U, 2U, 3U}) trace.open(rank);
  trace.write(0, 0);
  trace.write(1, 8);
  for (std::uint32_t rank = 0; rank < 4; ++rank) trace.barrier(rank);
  trace.read(2, 0);
  trace.read(3, 8);
  EXPECT_EQ(wrong_of(trace.verdict()), (Wrong{2, 0, 1, 2, 2}));
}

TEST(VerifyTraces, AtomicModeIsThatOfAHandle) {
  // Two handles of one file: accesses by the first are in atomic mode, until it ends.
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    for (const std::int64_t handle : {1, 2}) trace.open_mpi(rank, handle);
    trace.call(rank, "MPI_File_set_atomicity", {{"file", {1}}, {"flag", {1}}});
  }
  trace.move_mpi(0, "MPI_File_write_at", 1, 0);
  trace.move_mpi(0, "MPI_File_write_at", 2, 8);
  trace.call(0, "MPI_File_set_atomicity", {{"file", {1}}, {"flag", {0}}});
  trace.move_mpi(0, "MPI_File_write_at", 1, 16);
  for (const std::uint32_t rank : {0U, 1U}) trace.barrier(rank);
  for (const std::int64_t offset : {0, 8, 16}) {
    trace.move_mpi(1, "MPI_File_read_at", 1, offset);
  }
  trace.move_mpi(1, "MPI_File_read_at", 2, 0);
  EXPECT_EQ(wrong_of(trace.verdict()), (Wrong{4, 0, 4, 4, 3}));
}

// Whether rank 1 finds under `path` what rank 0 wrote to /scratch/shared, after rank 0's call.
bool is_same_file(std::string_view name, std::string_view text, std::string_view path,
                  const MadeTrace::Words& words = {}) {
  MadeTrace trace(2);
  trace.open(0);
  trace.write(0, 0);
  trace.call(0, name, words, text);
  trace.open(1, 2, path);
  trace.read(1, 0);
  const TraceVerdict verdict = trace.verdict();
  return !verdict.files.empty() && verdict.files[0].pairs == 1;
}

TEST(VerifyTraces, NamesAreFollowedWhereverTheyAreChanged) {
  constexpr std::string_view kShared = "/scratch/shared", kOther = "/scratch/other";
  const std::string both = std::string(kShared) + '\0' + std::string(kOther);
  EXPECT_TRUE(is_same_file("fsync", "", kShared));
  EXPECT_FALSE(is_same_file("unlinkat", kShared, kShared));
  EXPECT_FALSE(is_same_file("MPI_File_delete", "ufs:/scratch/shared", kShared));
  EXPECT_TRUE(is_same_file("MPI_File_delete", kShared, kShared, {{"result", {37}}}));
  EXPECT_FALSE(is_same_file("H5Fdelete", kShared, kShared));
  EXPECT_FALSE(is_same_file("fsync", "", kOther));
  EXPECT_TRUE(is_same_file("linkat", both, kOther));
  EXPECT_TRUE(is_same_file("linkat", both, kShared));
  EXPECT_TRUE(is_same_file("renameat2", both, kOther));
  EXPECT_FALSE(is_same_file("renameat2", both, kShared));
  EXPECT_TRUE(is_same_file("renameat2", both, kOther, {{"flags", {2}}}));
  // From the working directory, and from a folder that only the descriptor knows.
  EXPECT_FALSE(is_same_file("unlinkat", "../scratch/shared", kShared, {{"dirfd", {-100}}}));
  EXPECT_TRUE(is_same_file("unlinkat", "../scratch/shared", kShared, {{"dirfd", {7}}}));
}

TEST(VerifyTraces, LocksAreSaidToOrderNothing) {
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    trace.open(rank);
    trace.call(rank, "fcntl", {{"command", {7}}});
    trace.write(rank, 0);
    trace.call(rank, "fcntl", {{"command", {1}}});  // no lock
  }
  const TraceVerdict verdict = trace.verdict();
  EXPECT_EQ(wrong_of(verdict), (Wrong{1, 1, 1, 1, 1}));
  ASSERT_EQ(verdict.unknown.size(), 1U);
  EXPECT_EQ(verdict.unknown[0].reason, "fcntl orders processes in a way that is not followed");
  EXPECT_EQ(verdict.unknown[0].times, 2U);
}

TEST(VerifyTraces, AFailedCallOrdersNothing) {
  MadeTrace trace(2);
  for (const std::uint32_t rank : {0U, 1U}) trace.open(rank);
  trace.write(0, 0);
  trace.call(0, "fsync", {{"result", {-1}}});
  for (const std::uint32_t rank : {0U, 1U}) trace.barrier(rank);
  trace.read(1, 0);
  EXPECT_EQ(wrong_of(trace.verdict()), (Wrong{1, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace iotune::analyzer
