// Datasets that grow, are made again or are selected by points, through a whole trace.
#include <gtest/gtest.h>

#include "analyzer/summary/summarize.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

using recorder::BlockType;
using recorder::CallNumber;
namespace made = recorder::made;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kFile = 16777216;
constexpr std::uint8_t kInHdf5 = 1;

Numbers joined(std::initializer_list<Numbers> lists) {
  Numbers all;
  for (const Numbers& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// One rank that works on /d of /x.h5, a dataset's id and object being one number.
class Rank {
 public:
  void creates(std::int64_t id) { opened(CallNumber::kH5Dcreate2, {kFile, 5, 6, 0, 0, 0, id}); }
  void opens(std::int64_t id) { opened(CallNumber::kH5Dopen2, {kFile, 0, id}); }
  void notes(std::int64_t id, const Numbers& dims, bool chunked, const std::string& path = "/d") {
    const auto n = static_cast<std::int64_t>(dims.size());
    const Numbers chunk = chunked ? joined({{n}, Numbers(dims.size(), 2)}) : Numbers{-1};
    std::string names = "/x.h5";
    names += '\0';
    names += path;
    ring_.add(CallNumber::kiotune_dataset, {now_ += 10, 0}, {id},
              joined({{id, 4, 0, chunked ? 2 : 1, 0, n}, dims, chunk}), names, true, kInHdf5);
  }
  void writes(std::int64_t id, std::int64_t points, const Numbers& selection,
              std::int64_t type_bytes = 4) {
    ring_.add(CallNumber::kH5Dwrite, {now_ += 10, 5}, {},
              joined({{id, 5, 6, 7, 0, 0, id, 0, type_bytes, points}, selection}));
  }
  void writes_box(std::int64_t id, const Numbers& start, const Numbers& block,
                  std::int64_t type_bytes = 4) {
    std::int64_t points = 1;
    for (const std::int64_t b : block) points *= b;
    const Numbers ones(start.size(), 1);
    writes(id, points,
           joined({{2, static_cast<std::int64_t>(start.size())}, start, ones, ones, block}),
           type_bytes);
  }
  // Collectively: what HDF5 made of it, and the causes on any rank.
  void writes_collectively(std::int64_t id, std::int64_t from, std::int64_t mode,
                           std::int64_t causes) {
    ring_.add(CallNumber::kH5Dwrite, {now_ += 10, 5}, {},
              {id, 5, 6, 7, 1, 0, id, 1, 4, 2, 2, 1, from, 1, 1, 2, 7, 0, mode, 0, causes});
  }
  // The file's descriptor, which HDF5 opened.
  void opened_below() {
    ring_.add(CallNumber::kiotune_file, {now_ += 10, 0}, {kDescriptor},
              {3, static_cast<std::int64_t>(Layer::kPosix)}, "/x.h5", true, kInHdf5);
  }
  void writes_below(std::int64_t count) {
    ring_.add(CallNumber::kpwrite, {now_ += 10, 1}, {3, kDescriptor}, {count, 0, count}, "", true,
              kInHdf5);
  }
  void closes(std::int64_t id, std::uint64_t ticks) {
    ring_.add(CallNumber::kH5Dclose, {now_ += 10, ticks}, {}, {id, 0}, "", true);
    now_ += ticks;
  }
  void flushes(std::uint64_t ticks) {
    ring_.add(CallNumber::kH5Fflush, {now_ += 10, ticks}, {}, {kFile, 1, 0}, "", true);
    now_ += ticks;
  }
  void has_file() {
    ring_.add(CallNumber::kH5Fcreate, {now_ += 10, 5}, {}, {2, 0, 0, kFile}, "/x.h5", true);
    ring_.add(CallNumber::kiotune_file, {now_ += 10, 0}, {1},
              {kFile, static_cast<std::int64_t>(Layer::kHdf5)}, "/x.h5", true);
  }
  const std::vector<std::byte>& bytes() const { return ring_.bytes(); }

 private:
  static constexpr std::int64_t kDescriptor = 77;

  void opened(CallNumber call, const Numbers& numbers) {
    ring_.add(call, {now_ += 10, 5}, {}, numbers, "d", true);
  }
  std::uint64_t now_ = 100;
  made::RingBytes ring_;
};

std::vector<DatasetPattern> datasets_of(const std::vector<Rank>& ranks,
                                        std::uint64_t calls_at_once = 1 << 20) {
  const made::Folder folder;
  auto trace = made::trace_head();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    made::add_block(
        trace, BlockType::kProcess,
        made::bytes_of(made::process_text(static_cast<int>(100 + r), static_cast<int>(r))));
    made::add_block(trace, BlockType::kEvents, made::encoded(ranks[r].bytes()));
    made::add_block(trace, BlockType::kEnd, made::bytes_of("end=exit\n"));
  }
  const Result<RunSummary> summary = summarize(folder.file("t.iotrace", trace), calls_at_once);
  EXPECT_TRUE(summary);
  EXPECT_EQ(summary->files.size(), 1U);
  return summary->files.at(0).datasets;
}

TEST(SummarizeDatasets, MadeAgainWithOtherDimensionsIsAnotherDataset) {
  std::vector<Rank> ranks(3);
  for (std::int64_t r = 0; r < 3; ++r) {
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    // The last rank comes only later, and moves nothing of the first dataset.
    rank.creates(1);
    if (r < 2) {
      rank.notes(1, {8, 4}, true);
      rank.writes_box(1, {4 * r, 0}, {4, 4});
    }
    rank.creates(2);
    rank.notes(2, {9, 9}, true);
    rank.writes_box(2, {3 * r, 0}, {3, 9});
    rank.creates(3);
    rank.notes(3, {30}, false);
    rank.writes_box(3, {10 * r}, {10});
  }
  const std::vector<DatasetPattern> found = datasets_of(ranks);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].descriptor.text(), "<2D,(BLOCK,*),(4,4)>");
  EXPECT_EQ(found[0].dataset_dims, (std::vector<std::uint64_t>{8, 4}));
  EXPECT_EQ(found[0].ranks, 2U);
  EXPECT_EQ(found[1].descriptor.text(), "<2D,(BLOCK,*),(3,9)>");
  EXPECT_EQ(found[1].dataset_dims, (std::vector<std::uint64_t>{9, 9}));
  EXPECT_EQ(found[2].descriptor.text(), "<1D,(BLOCK),(10)>");
  for (const DatasetPattern& one : found) EXPECT_EQ(one.dataset, "/d");
}

// Elements of 4 bytes in the file; one field of 2 bytes is written.
TEST(SummarizeDatasets, BytesAreThoseOfTheMemoryType) {
  Rank rank;
  rank.creates(11);
  rank.notes(11, {8}, false);
  rank.writes_box(11, {0}, {8}, 2);
  rank.writes_box(11, {0}, {8}, 2);
  const std::vector<DatasetPattern> datasets = datasets_of({rank});
  ASSERT_EQ(datasets.size(), 1U);
  EXPECT_EQ(datasets[0].bytes, 32U);
  EXPECT_EQ(datasets[0].element_bytes, 4U);
}

// What HDF5 keeps in its buffers goes out when the dataset is closed or the file flushed: that is
// the dataset's time as well.
TEST(SummarizeDatasets, TimeIsWhatTheBytesTookWheneverTheyWent) {
  Rank rank;
  rank.has_file();
  rank.opened_below();
  for (const std::int64_t id : {11, 12, 13, 14}) {
    rank.creates(id);
    rank.notes(id, {8}, true, "/n" + std::to_string(id));
    if (id == 12) rank.writes_below(32);  // goes out at once
    rank.writes_box(id, {0}, {8});
  }
  rank.writes_below(32);
  rank.closes(11, 1000);
  rank.closes(12, 1000);  // nothing was left
  rank.writes_below(64);
  rank.flushes(4000);
  rank.writes_below(10);  // metadata
  rank.flushes(500);
  rank.closes(13, 700);
  for (const std::uint64_t at_once : {std::uint64_t{1000}, std::uint64_t{1}}) {
    const std::vector<DatasetPattern> found = datasets_of({rank}, at_once);
    ASSERT_EQ(found.size(), 4U);
    const double of_transfer = found[1].seconds;
    EXPECT_NEAR(found[0].seconds, 201 * of_transfer, 1e-12);
    EXPECT_NEAR(found[2].seconds, 401 * of_transfer, 1e-12);
    EXPECT_NEAR(found[3].seconds, 401 * of_transfer, 1e-12);
  }
}

// h5py's f["x"] = array: made without a name, written, then linked. One is never linked.
TEST(SummarizeDatasets, OneThatIsLinkedLaterHasItsName) {
  Rank rank;
  for (const std::int64_t id : {11, 12, 13}) {
    rank.creates(id);
    rank.notes(id, {8}, false, "");
    rank.writes_box(id, {0}, {8});
    if (id != 12) rank.notes(id, {8}, false, "/n" + std::to_string(id));
  }
  // At once, and as a process with more calls than are held at once.
  for (const std::uint64_t at_once : {std::uint64_t{1000}, std::uint64_t{1}}) {
    const std::vector<DatasetPattern> datasets = datasets_of({rank}, at_once);
    ASSERT_EQ(datasets.size(), 3U) << at_once;
    EXPECT_EQ(datasets[0].dataset, "/n11");
    EXPECT_EQ(datasets[1].dataset, "(unnamed 1)");
    EXPECT_EQ(datasets[2].dataset, "/n13");
    for (const DatasetPattern& dataset : datasets) {
      EXPECT_EQ(dataset.calls, 1U);
      EXPECT_EQ(dataset.bytes, 32U);
    }
  }
}

TEST(SummarizeDatasets, MadeAgainAlikeIsARepeat) {
  std::vector<Rank> ranks(2);
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t step = 1; step <= 3; ++step) {
      Rank& rank = ranks[static_cast<std::size_t>(r)];
      rank.creates(step);
      rank.notes(step, {8}, false);
      rank.writes_box(step, {4 * r}, {4});
    }
  }
  const std::vector<DatasetPattern> found = datasets_of(ranks);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].descriptor.text(), "<1D,(BLOCK),(4)>");
  EXPECT_EQ(found[0].repeats, 3U);
}

TEST(SummarizeDatasets, OneThatGrowsByAStepACallIsOneDataset) {
  std::vector<Rank> ranks(2);
  for (std::int64_t r = 0; r < 2; ++r) {
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    // Rank 1 has it opened again for every step and comes a step late.
    rank.creates(1);
    if (r == 0) rank.notes(1, {1, 10}, true);
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::int64_t id = r == 0 ? 1 : 2 + step;
      if (r == 1) {
        rank.opens(id);
        rank.notes(id, {step + 2, 10}, true);
      }
      rank.writes_box(id, {step, 5 * r}, {1, 5});
    }
  }
  const std::vector<DatasetPattern> found = datasets_of(ranks);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].descriptor.text(), "<2D,(*,BLOCK),(5,5)>");
  EXPECT_EQ(found[0].dataset_dims, (std::vector<std::uint64_t>{6, 10}));
  EXPECT_EQ(found[0].repeats, 1U);
}

TEST(SummarizeDatasets, WhatHdf5MadeOfTransfersIsCountedOverAllRanks) {
  // Of so many ranks that alike ones are not read one by one.
  std::vector<Rank> ranks(8);
  for (std::int64_t r = 0; r < 8; ++r) {
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    rank.creates(1);
    rank.notes(1, {48}, false);
    rank.writes_collectively(1, 6 * r, 4, 0);
    rank.writes_collectively(1, 6 * r + 2, 0, 2 | 0x40);
    rank.writes_collectively(1, 6 * r + 4, 7, 0x400);
  }
  const std::vector<DatasetPattern> found = datasets_of(ranks);
  ASSERT_EQ(found.size(), 1U);
  const recorder::ActualCounts& actual = found[0].actual;
  EXPECT_EQ(actual.modes, (std::array<std::uint64_t, 6>{8, 0, 0, 0, 8, 8}));
  EXPECT_EQ(actual.causes, (std::array<std::uint64_t, 10>{0, 8, 0, 0, 0, 0, 8, 0, 0, 8}));
  RunSummary summary{};
  summary.files.emplace_back().datasets = found;
  const std::string json = to_json(summary);
  EXPECT_NE(json.find("\"actual_io\":{\"independent\":8,\"collective (contiguous)\":8,"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"not_collective\":{\"datatype conversion\":8,"), std::string::npos);
}

TEST(SummarizeDatasets, PointsOnALatticeAreCyclic) {
  std::vector<Rank> ranks(2);
  for (std::int64_t r = 0; r < 2; ++r) {
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    rank.creates(1);
    rank.notes(1, {1, 1}, true);
    Numbers points;
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) points.insert(points.end(), {i, 2 * j + r});
    }
    rank.writes(1, 12, joined({{4, 2, 12}, points}));
  }
  const std::vector<DatasetPattern> found = datasets_of(ranks);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].descriptor.text(), "<2D,(*,CYCLIC),(3,4)>");
  // Points tell that the dataset had grown.
  EXPECT_EQ(found[0].dataset_dims, (std::vector<std::uint64_t>{3, 8}));
}

}  // namespace
}  // namespace iotune::analyzer
