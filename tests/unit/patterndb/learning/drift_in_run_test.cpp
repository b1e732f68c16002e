#include "patterndb/decide/drift_in_run.h"

#include <tuple>

#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

constexpr double kMiB = 1 << 20;

Question question_of(const std::string& file, bool creating = true) {
  Question question = vpic_question(creating);
  question.file = file;
  return question;
}

Decision answer(double bytes) {
  Decision decision;
  decision.source = IOTUNE_SOURCE_EXACT;
  decision.settings = must(Settings::parse("cb_nodes=2"));
  decision.known = {{bytes, 2, true, false}};
  return decision;
}

std::string after_closing(double known, std::uint64_t bytes, bool collective = true) {
  DriftTable table;
  table.follow(question_of("/a/dump0.h5"), answer(known));
  table.closed("/a/dump0.h5", bytes, collective);
  return table.reason(question_of("/a/dump1.h5"), {});
}

TEST(DriftInRun, AFileThatFitsIsNoDrift) {
  EXPECT_EQ(after_closing(100 * kMiB, 101 << 20), "");
  EXPECT_EQ(after_closing(100 * kMiB, 130 << 20), "");  // alignment
  EXPECT_EQ(after_closing(8192, 65536), "");            // headers
  EXPECT_EQ(after_closing(0, 1 << 30), "");             // compressed: nobody knows
}

TEST(DriftInRun, OtherSizesAreNoticedAtTheFirstFile) {
  EXPECT_NE(after_closing(100 * kMiB, 200 << 20), "");
  EXPECT_EQ(after_closing(100 * kMiB, 50 << 20),
            "dump0.h5 was 50 MiB large, with datasets of 100 MiB before");
}

TEST(DriftInRun, AnotherModeIsNoticed) {
  EXPECT_EQ(after_closing(100 * kMiB, 101 << 20, false),
            "dump0.h5 was written independently, not collectively");
}

// Snapshots and checkpoints of one name, a file written independently and one collectively.
TEST(DriftInRun, FilesOfASeriesNeedNotBeAlike) {
  for (const auto& [bytes, collective, fits] :
       {std::tuple(100, true, true), {7, false, true}, {50, true, false}, {100, false, false}}) {
    Decision decision = answer(100 * kMiB);
    decision.known.push_back({7 * kMiB, 1, false, true});
    DriftTable table;
    table.follow(question_of("/a/dump0.h5"), decision);
    table.closed("/a/dump0.h5", static_cast<std::uint64_t>(bytes) << 20, collective);
    EXPECT_EQ(table.reason(question_of("/a/dump1.h5"), {}).empty(), fits) << bytes << collective;
  }
}

// Datasets come when it is opened again.
TEST(DriftInRun, AFileOfHeadersAloneSaysNothing) {
  EXPECT_EQ(after_closing(100 * kMiB, 2144, false), "");
}

TEST(DriftInRun, OtherWorkloadsAndOldFilesAreNotConcerned) {
  DriftTable table;
  table.follow(question_of("/a/dump0.h5"), answer(100 * kMiB));
  table.closed("/a/other0.h5", 7 << 20, true);
  EXPECT_EQ(table.reason(question_of("/a/dump1.h5"), {}), "");
  table.closed("/a/dump0.h5", 7 << 20, true);
  EXPECT_EQ(table.reason(question_of("/a/grid1.h5"), {}), "");
  Question more_ranks = question_of("/a/dump1.h5");
  more_ranks.ranks += 1;
  EXPECT_EQ(table.reason(more_ranks, {}), "");
  EXPECT_NE(table.reason(question_of("/a/dump1.h5"), {}), "");
  DriftTable reads;
  reads.follow(question_of("/a/dump0.h5", false), answer(100 * kMiB));
  reads.closed("/a/dump0.h5", 7 << 20, true);
  EXPECT_EQ(reads.reason(question_of("/a/dump1.h5"), {}), "");
}

}  // namespace
}  // namespace iotune::patterndb::testing
