#include "analyzer/summary/summarize.h"

#include <gtest/gtest.h>

#include "recorder/decision_digest.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::analyzer {
namespace {

using recorder::BlockType;
using recorder::CallNumber;
namespace made = recorder::made;

constexpr std::int64_t kFile = 16777216, kDataset = 83886080, kObject = 1;
constexpr std::uint8_t kInHdf5 = 1, kInMpi = 2;

// What a rank of ph5Example does: opens, writes its six rows with MPI-IO and POSIX underneath,
// closes. Times in ns; each call is as long as the sum of those inside it and 10 more.
made::RingBytes ph5_rank(std::int64_t rank, const std::string& path, int steps = 1,
                         bool closes = true) {
  made::RingBytes ring;
  const auto control = [&](CallNumber number, std::uint64_t start, std::uint64_t duration,
                           std::vector<std::int64_t> numbers, const std::string& text = {}) {
    ring.add(number, {start, duration}, {}, std::move(numbers), text, true);
  };
  ring.add(CallNumber::kopen, {110, 10}, {}, {66, 0, 5}, path, true, kInHdf5 | kInMpi);
  ring.add(CallNumber::kiotune_file, {121, 0}, {1}, {5, 3}, path, true, kInHdf5 | kInMpi);
  ring.add(CallNumber::kMPI_File_open, {105, 20}, {}, {1, 2, 0, 777, 0}, "relative.h5", true,
           kInHdf5);
  ring.add(CallNumber::kiotune_file, {126, 0}, {2}, {777, 1}, path, true, kInHdf5);
  control(CallNumber::kH5Fcreate, 100, 30, {2, 0, 167772177, kFile}, "relative.h5");
  ring.add(CallNumber::kiotune_file, {131, 0}, {3}, {kFile, 0}, path, true, kInHdf5);
  control(CallNumber::kH5Screate_simple, 140, 1000, {2, 2, 24, 24, -1, 67108866});
  control(CallNumber::kH5Dcreate2, 1200, 7, {kFile, 5, 67108866, 0, 0, 0, kDataset}, "Data1");
  std::string names = path;
  names += '\0';
  names += "/Data1";
  ring.add(CallNumber::kiotune_dataset, {1210, 0}, {kObject}, {kDataset, 4, 0, 1, 0, 2, 24, 24, -1},
           names, true, kInHdf5);
  for (int step = 0; step < steps; ++step) {
    const std::uint64_t at = 2000 + 100 * static_cast<std::uint64_t>(step);
    ring.add(CallNumber::kpwrite, {at + 20, 20}, {5, 1}, {576, 2048 + 576 * rank, 576}, "", false,
             kInHdf5 | kInMpi);
    ring.add(CallNumber::kMPI_File_write_at, {at + 10, 40}, {},
             {777, 2048 + 576 * rank, 576, 1275068685, 0, 1}, "", false, kInHdf5);
    ring.add(CallNumber::kH5Dwrite, {at, 60}, {},
             {kDataset, 50331660, 67108868, 67108867, 0, 0, kObject, 0,  4, 144,
              2,        2,        6 * rank, 0,        1, 1, 6,       24, 1, 1});
  }
  control(CallNumber::kH5Dclose, 5000, 3, {kDataset, 0});
  if (closes) {
    control(CallNumber::kH5Fclose, 5010, 10 + static_cast<std::uint64_t>(rank), {kFile, 0});
  }
  return ring;
}

std::string trace_of(const made::Folder& folder, const std::vector<made::RingBytes>& ranks,
                     bool last_died = false) {
  auto trace = made::trace_head();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    made::add_block(
        trace, BlockType::kProcess,
        made::bytes_of(made::process_text(static_cast<int>(100 + r), static_cast<int>(r)) +
                       "argv=/opt/a%20b%00-n%004\n"));
    made::add_block(trace, BlockType::kEvents, made::encoded(ranks[r].bytes()));
    if (last_died && r + 1 == ranks.size()) break;
    made::add_block(trace, BlockType::kEnd, made::bytes_of("end=exit\n"));
  }
  return folder.file("t.iotrace", trace);
}

TEST(Summarize, CallsOnLinksAreOfTheirFile) {
  const made::Folder folder;
  made::RingBytes ring = ph5_rank(0, "/scratch/out.h5", 1, false);
  ring.add(CallNumber::kH5Lexists, {5100, 9}, {}, {kFile, 0, 1}, "Data1", true);
  ring.add(CallNumber::kH5Lexists, {5200, 400}, {}, {kFile + 1, 0, 1}, "Data1", true);
  const Result<RunSummary> summary = summarize(trace_of(folder, {ring}));
  ASSERT_TRUE(summary) << summary.error().text();
  ASSERT_EQ(summary->files.size(), 1U);
  EXPECT_DOUBLE_EQ(summary->files[0].io_seconds, 109e-9);
}

TEST(Summarize, NodesAreThoseOfRanks) {
  const made::Folder folder;
  auto trace = made::trace_head();
  const auto process = [&](const std::string& host, int rank) {
    std::string text = made::process_text(100 + rank, rank);
    text.replace(text.find("host=made"), 9, "host=" + host);
    made::add_block(trace, BlockType::kProcess, made::bytes_of(text));
    made::add_block(trace, BlockType::kEnd, made::bytes_of("end=exit\n"));
  };
  process("login", -1);  // the launcher
  process("nid1", 0);
  process("nid2", 1);
  const Result<RunSummary> summary = summarize(folder.file("t.iotrace", trace));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->nodes, 2u);

  trace = made::trace_head();
  process("nid1", -1);
  process("nid2", -1);
  const Result<RunSummary> without_mpi = summarize(folder.file("u.iotrace", trace));
  ASSERT_TRUE(without_mpi);
  EXPECT_EQ(without_mpi->nodes, 2u);
}

TEST(Summarize, Ph5ExampleIsRecognised) {
  const made::Folder folder;
  const auto path = trace_of(folder, {ph5_rank(0, "/scratch/run12/out-0007.h5"),
                                      ph5_rank(1, "/scratch/run12/out-0007.h5")});
  const Result<RunSummary> summary = summarize(path);
  // Call by call there comes out the same.
  const Result<RunSummary> walked = summarize(path, 0);
  ASSERT_TRUE(summary && walked);
  EXPECT_EQ(to_json(*walked), to_json(*summary));
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->ranks, 2U);
  EXPECT_EQ(summary->run_id, "run-1");
  EXPECT_EQ(summary->program_name, "a b");
  EXPECT_EQ(summary->argv, (std::vector<std::string>{"/opt/a b", "-n", "4"}));
  EXPECT_TRUE(summary->warnings.empty()) << summary->warnings.front();
  ASSERT_EQ(summary->files.size(), 1U);
  const FilePattern& file = summary->files[0];
  EXPECT_EQ(file.path, "/scratch/run12/out-0007.h5");
  EXPECT_EQ(file.masked_name, "out-#.h5");
  // HDF5's bytes, not those of the layers below it.
  EXPECT_EQ(file.bytes_written, 2 * 6 * 24 * 4U);
  EXPECT_EQ(file.bytes_read, 0U);
  // create 30 + dataset 7 + write 60 + close 3 + close 11, of the slower rank.
  EXPECT_DOUBLE_EQ(file.io_seconds, 111e-9);
  EXPECT_NEAR(file.elapsed_seconds, 4921e-9, 1e-12);
  EXPECT_EQ(file.dominant_dataset, 0U);
  EXPECT_EQ(file.dominant_count, 1U);
  ASSERT_EQ(file.datasets.size(), 1U);
  const DatasetPattern& dataset = file.datasets[0];
  EXPECT_EQ(dataset.descriptor.text(), "<2D,(BLOCK,*),(6,24)>");
  EXPECT_EQ(dataset.dataset, "/Data1");
  EXPECT_TRUE(dataset.write);
  EXPECT_EQ(dataset.process_grid, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(dataset.dataset_dims, (std::vector<std::uint64_t>{24, 24}));
  EXPECT_EQ(dataset.mode, TransferMode::kIndependent);
  EXPECT_EQ(dataset.calls, 2U);
  EXPECT_EQ(dataset.repeats, 1U);
  EXPECT_EQ(dataset.element_bytes, 4U);
  EXPECT_DOUBLE_EQ(dataset.seconds, 60e-9);
  EXPECT_NE(to_json(*summary).find("\"text\":\"<2D,(BLOCK,*),(6,24)>\""), std::string::npos);
}

TEST(Summarize, StepsAreRepeats) {
  const made::Folder folder;
  const auto path = trace_of(folder, {ph5_rank(0, "/x.h5", 5), ph5_rank(1, "/x.h5", 5)});
  const Result<RunSummary> summary = summarize(path);
  ASSERT_TRUE(summary);
  const DatasetPattern& dataset = summary->files.at(0).datasets.at(0);
  EXPECT_EQ(dataset.descriptor.text(), "<2D,(BLOCK,*),(6,24)>");
  EXPECT_EQ(dataset.repeats, 5U);
  EXPECT_EQ(dataset.calls, 10U);
  EXPECT_EQ(dataset.bytes, 5 * 2 * 6 * 24 * 4U);
}

// Killed in the midst of a file: whatever else the rank would have written of it is missing.
TEST(Summarize, AFileIsCutShortWhereADeadProcessLeftItOpen) {
  for (const bool died : {false, true}) {
    for (const bool closes : {false, true}) {
      const made::Folder folder;
      const auto summary = summarize(
          trace_of(folder, {ph5_rank(0, "/a.h5"), ph5_rank(1, "/a.h5", 1, closes)}, died));
      ASSERT_TRUE(summary) << summary.error().text();
      ASSERT_EQ(summary->files.size(), 1U);
      EXPECT_EQ(summary->files[0].cut_short, died && !closes) << died << closes;
    }
  }
}

// A directory is closed by a call of its own.
TEST(Summarize, ADirectoryIsCutShortWhereADeadProcessLeftItOpen) {
  for (const bool closes : {false, true}) {
    const made::Folder folder;
    made::RingBytes ring;
    ring.add(CallNumber::kopendir, {10, 5}, {}, {6}, "/d", true);
    ring.add(CallNumber::kiotune_file, {15, 0}, {1}, {6, 3}, "/d", true, 8);
    ring.add(CallNumber::kreaddir, {20, 5}, {6, 1}, {0});
    if (closes) ring.add(CallNumber::kclosedir, {30, 5}, {6, 1}, {0}, "", true);
    const auto summary = summarize(trace_of(folder, {ring}, true));
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(summary->files.size(), 1U);
    EXPECT_EQ(summary->files[0].cut_short, !closes);
  }
}

TEST(Summarize, FilesOfLowerLayersHaveInferredDatasetsOfBytes) {
  const made::Folder folder;
  made::RingBytes ring;
  ring.add(CallNumber::kMPI_File_open, {10, 5}, {}, {1, 5, 0, 9, 0}, "m", true);
  ring.add(CallNumber::kiotune_file, {15, 0}, {1}, {9, 1}, "/m", true, kInMpi);
  ring.add(CallNumber::kpwrite, {21, 2}, {7, 8}, {1, 0, 1}, "", false, kInMpi);
  ring.add(CallNumber::kMPI_File_write_at_all, {20, 5}, {}, {9, 0, 100, 77, 0, 8});
  ring.add(CallNumber::kMPI_File_close, {30, 5}, {}, {9, 0}, "", true);
  ring.add(CallNumber::kopen, {40, 5}, {}, {0, 0, 4}, "/p", true);
  ring.add(CallNumber::kiotune_file, {45, 0}, {2}, {4, 3}, "/p", true, 8);
  ring.add(CallNumber::kread, {50, 5}, {4, 2}, {4096, 10, 0});
  ring.add(CallNumber::kread, {60, 5}, {4, 2}, {4096, -1, 0});
  const Result<RunSummary> summary = summarize(trace_of(folder, {ring}));
  ASSERT_TRUE(summary);
  ASSERT_EQ(summary->files.size(), 2U);
  EXPECT_EQ(summary->files[0].path, "/m");
  EXPECT_EQ(summary->files[0].bytes_written, 800U);
  EXPECT_EQ(summary->files[0].dominant_dataset, 0U);
  ASSERT_EQ(summary->files[0].datasets.size(), 1U);
  const DatasetPattern& bytes = summary->files[0].datasets[0];
  EXPECT_EQ(bytes.dataset, "(bytes)");
  EXPECT_TRUE(bytes.inferred);
  EXPECT_EQ(bytes.descriptor.text(), "<1D,(*),(100)>");
  EXPECT_EQ(bytes.element_bytes, 8U);
  EXPECT_EQ(bytes.mode, TransferMode::kCollective);
  EXPECT_NE(to_json(*summary).find("\"inferred\":true"), std::string::npos);
  EXPECT_DOUBLE_EQ(summary->files[0].io_seconds, 15e-9);
  EXPECT_EQ(summary->files[1].bytes_read, 10U);
  EXPECT_DOUBLE_EQ(summary->files[1].io_seconds, 15e-9);
  // size=2 in its PROCESS, one rank in the trace.
  ASSERT_EQ(summary->warnings.size(), 1U);
  EXPECT_EQ(summary->warnings[0], "only 1 of 2 ranks are in the trace");
}

TEST(Summarize, StdioWritesWhatItPutsAndPrints) {
  const made::Folder folder;
  made::RingBytes ring;
  const std::pair<CallNumber, bool> calls[] = {{CallNumber::kfwrite, true},
                                               {CallNumber::kfputs, true},
                                               {CallNumber::kfprintf, true},
                                               {CallNumber::kfgets, false},
                                               {CallNumber::kfread, false}};
  std::int64_t fd = 5;
  std::uint64_t now = 0;
  for (const auto& [number, writes] : calls) {
    const std::string path = "/" + std::to_string(fd);
    ring.add(CallNumber::kfopen, {now += 10, 5}, {}, {fd}, path + '\0' + "w", true);
    ring.add(CallNumber::kiotune_file, {now += 10, 0}, {fd}, {fd, 3}, path, true, 4);
    const bool blocks = number == CallNumber::kfwrite || number == CallNumber::kfread;
    const bool line = number == CallNumber::kfgets;
    for (std::int64_t i = 0; i < 3; ++i) {
      std::vector<std::int64_t> numbers{100, 100 * i};
      if (!line) numbers = {1, 100 * i, 100};
      if (line) numbers.insert(numbers.begin(), 4096);
      if (blocks) numbers = {1, 100, 100, 100 * i, 100};
      ring.add(number, {now += 10, 5}, {fd, fd}, numbers);
    }
    ++fd;
  }
  const Result<RunSummary> summary = summarize(trace_of(folder, {ring}));
  ASSERT_TRUE(summary) << summary.error().text();
  ASSERT_EQ(summary->files.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const FilePattern& file = summary->files[i];
    EXPECT_EQ(file.bytes_written, calls[i].second ? 300U : 0U) << i;
    EXPECT_EQ(file.bytes_read, calls[i].second ? 0U : 300U) << i;
    ASSERT_EQ(file.datasets.size(), 1U);
    EXPECT_EQ(file.datasets[0].write, calls[i].second) << i;
  }
}

// MPI_Wait is not recorded: what MPI-IO moves in there is known by the descriptor that it opened.
TEST(Summarize, WhatMpiIoMovesWhileItWaitsIsItsOwn) {
  const made::Folder folder;
  made::RingBytes ring;
  ring.add(CallNumber::kopen, {11, 2}, {}, {66, 0, 7}, "/m", true, kInMpi);
  ring.add(CallNumber::kiotune_file, {13, 0}, {8}, {7, 3}, "/m", true, kInMpi | 8);
  ring.add(CallNumber::kMPI_File_open, {10, 5}, {}, {1, 5, 0, 9, 0}, "m", true);
  ring.add(CallNumber::kiotune_file, {15, 0}, {1}, {9, 1}, "/m", true, kInMpi);
  ring.add(CallNumber::kMPI_File_iwrite_at, {20, 5}, {}, {9, 0, 100, 77, 0, 8});
  ring.add(CallNumber::kpwrite, {30, 2}, {7, 8}, {800, 0, 800});
  // The program's own, on the same file.
  ring.add(CallNumber::kopen, {40, 2}, {}, {66, 0, 9}, "/m", true);
  ring.add(CallNumber::kiotune_file, {43, 0}, {10}, {9, 3}, "/m", true, 8);
  ring.add(CallNumber::kpwrite, {50, 2}, {9, 10}, {50, 800, 50});
  const Result<RunSummary> summary = summarize(trace_of(folder, {ring}));
  ASSERT_TRUE(summary) << summary.error().text();
  ASSERT_EQ(summary->files.size(), 1U);
  EXPECT_EQ(summary->files[0].bytes_written, 850U);
  std::uint64_t calls = 0, bytes = 0;
  for (const DatasetPattern& dataset : summary->files[0].datasets) {
    calls += dataset.calls;
    bytes += dataset.bytes;
  }
  EXPECT_EQ(calls, 2U);
  EXPECT_EQ(bytes, 850U);
}

TEST(Summarize, DecisionsAndSettingsAreTheFiles) {
  const made::Folder folder;
  const auto joined = [](std::initializer_list<std::string> texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : std::string(1, '\0')) + text;
    return all;
  };
  made::RingBytes ring = ph5_rank(0, "/x.h5");
  for (int i = 0; i < 2; ++i) {
    ring.add(CallNumber::kiotune_decision, {6000, 0}, {}, {7, 1500, 2},
             joined({"/x.h5", "similar", "<1D,(BLOCK),(4)>", "as before"}), true);
    ring.add(CallNumber::kiotune_setting, {6001, 0}, {}, {2},
             joined({"/x.h5", "cb_nodes", "4", "1", "one node"}), true);
  }
  const Result<RunSummary> summary = summarize(trace_of(folder, {ring}));
  ASSERT_TRUE(summary);
  const FilePattern& file = summary->files.at(0);
  EXPECT_EQ(file.decision_source, "similar");
  EXPECT_EQ(file.decision_row, 7);
  EXPECT_DOUBLE_EQ(file.decision_distance, 1.5);
  EXPECT_EQ(file.decision_state, "tuned");
  ASSERT_EQ(file.settings.size(), 1U);
  EXPECT_EQ(file.settings[0].verdict, "refused");
  EXPECT_EQ(file.settings[0].reason, "one node");
}

TEST(Summarize, WhatRanksHeldIsAddedUpAndItsReasonsCounted) {
  const made::Folder folder;
  std::vector<made::RingBytes> rings;
  for (const int rank : {0, 1}) {
    rings.push_back(ph5_rank(rank, "/x.h5"));
    const std::string file = std::string("/x.h5") + '\0';
    rings.back().add(CallNumber::kiotune_gather, {6000, 0}, {},
                     {0, 10, 80, 1, 2, 3 + rank, 50, 4, 20, 5, 10, 0}, file, true);
    rings.back().add(CallNumber::kiotune_gather, {6001, 0}, {},
                     {7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, file + "in atomic mode", true);
  }
  const Result<RunSummary> summary = summarize(trace_of(folder, rings));
  ASSERT_TRUE(summary);
  const GatherOutcome& gather = summary->files[0].gather;
  EXPECT_EQ(gather.ranks, 2U);
  EXPECT_EQ(gather.held_calls, 20U);
  EXPECT_EQ(gather.held_bytes, 160U);
  EXPECT_EQ(gather.flushes, 2U);
  EXPECT_EQ(gather.exchange_calls, 4U);
  EXPECT_EQ(gather.exchange_bytes, 100U);
  EXPECT_EQ(gather.alone_writes, 10U);
  EXPECT_EQ(gather.not_held, (std::map<std::string, std::uint64_t>{{"in atomic mode", 14}}));
}

TEST(Summarize, ADecisionIsKnownOfTheFilesThatSayItAgain) {
  const made::Folder folder;
  made::RingBytes ring = ph5_rank(0, "/x00.h5");
  std::string texts = "/x00.h5";
  for (const char* text : {"exact", "<1D,(BLOCK),(4)>", "row 7"}) (texts += '\0') += text;
  ring.add(CallNumber::kiotune_decision, {6000, 0}, {}, {7, 0, 1}, texts, true);
  const std::int64_t digest =
      recorder::decision_digest(7, 0, 1, "exact", "<1D,(BLOCK),(4)>", "row 7");
  // As the preload writes files outside the sample; of the second nothing is known.
  for (const std::int64_t other : {1, 2}) {
    const std::string path = "/x0" + std::to_string(other) + ".h5";
    const std::uint64_t at = 7000 + 100 * static_cast<std::uint64_t>(other);
    ring.add(CallNumber::kH5Fopen, {at, 30}, {}, {0, 0, kFile + other}, path, true);
    ring.add(CallNumber::kiotune_file, {at + 31, 0}, {3 + other}, {kFile + other, 0}, path, true);
    ring.add(CallNumber::kiotune_unsampled, {at + 32, 0}, {}, {kFile + other}, "", true);
    ring.add(CallNumber::kiotune_decision_again, {at + 33, 0}, {},
             {kFile + other, other == 1 ? digest : digest + 1}, "", true);
  }
  ring.add(CallNumber::kiotune_sampled_out, {7300, 0}, {}, {}, "/x03.h5", true);  // earlier builds'
  const auto path = trace_of(folder, {ring});
  const Result<RunSummary> summary = summarize(path), walked = summarize(path, 0);
  ASSERT_TRUE(summary && walked);
  EXPECT_EQ(to_json(*walked), to_json(*summary));
  ASSERT_EQ(summary->files.size(), 4U);
  EXPECT_FALSE(summary->files[0].sampled_out);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(summary->files[i].sampled_out);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(summary->files[i].decision_source, "exact");
    EXPECT_EQ(summary->files[i].decision_pattern, "<1D,(BLOCK),(4)>");
    EXPECT_EQ(summary->files[i].decision_message, "row 7");
    EXPECT_EQ(summary->files[i].decision_state, "default-is-best");
    EXPECT_EQ(summary->files[i].decision_row, 7);
  }
  EXPECT_EQ(summary->files[2].decision_source, "");
}

TEST(Summarize, WhatIsNoTraceIsAnError) {
  const Result<RunSummary> summary = summarize("/nonexistent/trace");
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().text().find("/nonexistent/trace"), std::string::npos);
}

}  // namespace
}  // namespace iotune::analyzer
