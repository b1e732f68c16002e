// Two sites' databases, and what the reports say of answers that moved.
#include <sys/stat.h>
#include <unistd.h>

#include "patterndb/exchange/record_json.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tests/unit/patterndb/statfs_mock.h"

namespace iotune::patterndb::testing {
namespace {

class Merge : public Folder {
 protected:
  Json merge(const PlatformFilter& filter = {}) {
    return Json::parse(must(here_.merge(at("other.db"), filter)));
  }
  Json exported() { return Json::parse(must(here_.export_json())); }
  TuningRow newest(const std::string& filesystem = "ext4") {
    return must(here_.newest_tuning(byte_key(vpic()), local_platform(filesystem)))
        .value_or(TuningRow());
  }
  Tuning on(const std::string& filesystem, const char* settings, double made_at) {
    Tuning tuning = tuned(vpic(), settings, made_at);
    tuning.platform = local_platform(filesystem);
    return tuning;
  }
  PatternDb here_ = create(at("here.db"));
  PatternDb other_ = create(at("other.db"));
};

TEST_F(Merge, OnlyThePlatformsThatFitAndNothingTwice) {
  must(other_.add_tuning(on("ext4", "cb_nodes=2", 100)));
  must(other_.add_tuning(on("lustre", "cb_nodes=4", 100)));
  must(other_.add_observation(vpic_run(), "of-the-other"));
  EXPECT_EQ(merge({"lustre", "", "", ""})["tunings"], 1);
  Json one = exported();
  EXPECT_EQ(one["platforms"].size(), 1u);
  EXPECT_EQ(one["tunings"].size(), 1u);
  EXPECT_EQ(one["observations"].size(), 0u);
  EXPECT_EQ(one["workloads"].size(), 0u);
  Json all = merge();
  EXPECT_EQ(all["tunings"], 1);
  EXPECT_EQ(all["observations"], 1);
  Json again = merge();
  EXPECT_EQ(again["tunings"], 0);
  EXPECT_EQ(again["observations"], 0);
  EXPECT_EQ(exported()["tunings"].size(), 2u);
}

TEST_F(Merge, TheNewestAnswerHoldsNoMatterWhoGaveIt) {
  must(here_.add_tuning(on("ext4", "cb_nodes=2", 100)));
  must(here_.add_tuning(on("lustre", "cb_nodes=2", 300)));
  must(other_.add_tuning(on("ext4", "cb_nodes=4", 200)));
  must(other_.add_tuning(on("lustre", "cb_nodes=4", 200)));
  merge();
  EXPECT_EQ(newest("ext4").settings, "cb_nodes=4");
  EXPECT_EQ(newest("lustre").settings, "cb_nodes=2");
}

TEST_F(Merge, WhatRunsHereTookBackIsNotTriedAgain) {
  Tuning reverted = on("ext4", "cb_nodes=2", 100);
  reverted.state = State::kReverted;
  must(here_.add_tuning(reverted));
  must(other_.add_tuning(on("ext4", "cb_nodes=2", 200)));
  EXPECT_EQ(merge()["left_reverted"], 1);
  EXPECT_EQ(newest().state, State::kReverted);
  must(other_.add_tuning(on("ext4", "cb_nodes=8", 300)));
  merge();
  EXPECT_EQ(newest().settings, "cb_nodes=8");
}

TEST_F(Merge, WhatWasTakenBackStaysSoBehindALaterAnswerToo) {
  must(here_.add_tuning(on("ext4", "cb_nodes=2", 100)));
  Tuning reverted = on("ext4", "cb_nodes=2", 200);
  reverted.state = State::kReverted;
  must(here_.add_tuning(reverted));
  must(here_.add_tuning(on("ext4", "cb_nodes=4", 300)));
  must(other_.add_tuning(on("ext4", "cb_nodes=2", 400)));
  EXPECT_EQ(merge()["left_reverted"], 1);
  EXPECT_EQ(newest().settings, "cb_nodes=4");
  // Nor does it come back by way of a document.
  Json imported = Json::parse(must(here_.import_json(must(other_.export_json()), "other")));
  EXPECT_EQ(imported["left_reverted"], 1);
  EXPECT_EQ(newest().settings, "cb_nodes=4");
  // A copy of this very database has nothing to leave out.
  std::string own = must(here_.export_json());
  EXPECT_EQ(Json::parse(must(here_.import_json(own, "own")))["left_reverted"], 0);
  EXPECT_EQ(must(here_.export_json()), own);
  // What was measured here since says more.
  must(here_.add_tuning(on("ext4", "cb_nodes=2", 500)));
  must(other_.add_tuning(on("ext4", "cb_nodes=2", 600)));
  EXPECT_EQ(merge()["left_reverted"], 0);
  EXPECT_EQ(newest().settings, "cb_nodes=2");
}

// Sites call their programs and files alike, and write other sizes.
TEST_F(Merge, WhatAWorkloadShowedHereHoldsBesideWhatItShowedElsewhere) {
  must(here_.add_observation(vpic_run(50), "own"));
  Observation elsewhere = vpic_run(900);
  elsewhere.files[0].uses[0].pattern = one_dimensional(7, 4);
  must(other_.add_observation(elsewhere, "of-the-other"));
  elsewhere = vpic_run(100);
  elsewhere.files[0].workload.program = "unknown-here";
  must(other_.add_observation(elsewhere, "another"));
  merge();
  const auto dominant_of = [&](const char* program) {
    const Workload workload{program, "vpic#.h5", 4, 1};
    return must(here_.pattern_of(workload, true)).value_or(KnownPattern());
  };
  EXPECT_EQ(dominant_of("vpic-io").byte_key, byte_key(vpic()));
  EXPECT_TRUE(dominant_of("vpic-io").settled);
  EXPECT_EQ(dominant_of("unknown-here").last_seen, 100);
  must(here_.add_observation(vpic_run(1000), "own again"));
  EXPECT_TRUE(dominant_of("vpic-io").settled);
  EXPECT_EQ(exported()["drifts"].size(), 0u);
}

TEST_F(Merge, TheOtherIsReadAsItIs) {
  must(other_.add_tuning(on("ext4", "cb_nodes=2", 100)));
  std::string before = read_file(at("other.db"));
  merge();
  EXPECT_EQ(read_file(at("other.db")), before);
  // One of an older version too.
  std::string old = read_file(std::string(IOTUNE_TEST_DATA) + "/databases/v1.db");
  write_file(at("old.db"), old);
  chmod(at("old.db").c_str(), 0600);
  EXPECT_EQ(Json::parse(must(here_.merge(at("old.db"), {})))["tunings"], 2);
  EXPECT_EQ(read_file(at("old.db")), old);
}

TEST_F(Merge, AFaultNamesTheOtherAndChangesNothing) {
  must(here_.add_tuning(on("ext4", "cb_nodes=2", 100)));
  write_file(at("broken.db"), std::string(5000, 'x'));
  chmod(at("broken.db").c_str(), 0600);
  Result<std::string> merged = here_.merge(at("broken.db"), {});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().text().find(at("broken.db") + ": "), 0u) << merged.error().text();
  write_file(at("empty.db"), "");
  chmod(at("empty.db").c_str(), 0600);
  merged = here_.merge(at("empty.db"), {});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().text(), at("empty.db") + ": an empty file, no pattern database");
  {
    // Half a transaction of another's must not pass for a database.
    PretendFilesystem pretend(kNfs);
    write_file(at("other.db-journal"), "half");
    merged = here_.merge(at("other.db"), {});
    ASSERT_FALSE(merged);
    EXPECT_NE(merged.error().text().find("interrupted"), std::string::npos);
    unlink(at("other.db-journal").c_str());
  }
  merged = here_.merge(at("missing.db"), {});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().text(), at("missing.db") + ": no pattern database there");
  chmod(at("other.db").c_str(), 0666);
  merged = here_.merge(at("other.db"), {});
  ASSERT_FALSE(merged);
  EXPECT_NE(merged.error().text().find("IOTUNE_DB_SHARED"), std::string::npos);
  EXPECT_EQ(exported()["tunings"].size(), 1u);
}

TEST_F(Merge, TheLedgerCountsWhatWasSavedAndLost) {
  std::int64_t row = must(here_.add_tuning(on("ext4", "cb_nodes=2", 1)));
  int number = 0;
  auto run = [&](double seconds, const char* source, const char* settings) {
    Observation observation = vpic_run(10 + number);
    observation.files[0].seconds = seconds;
    observation.files[0].decision_source = source;
    observation.files[0].decision_row = row;
    observation.files[0].settings = must(Settings::parse(settings));
    must(here_.add_observation(observation, std::to_string(++number)));
  };
  Json empty = Json::parse(must(here_.ledger()));
  EXPECT_EQ(empty["files"], 0);
  for (int i = 0; i < 3; ++i) run(3600, "unknown", "");
  run(1800, "exact", "cb_nodes=2");
  run(1800, "exact", "cb_nodes=2");
  run(4500, "exact", "cb_nodes=2");
  run(3600, "explore", "");
  Json ledger = Json::parse(must(here_.ledger()));
  EXPECT_EQ(ledger["files"], 3);
  EXPECT_NEAR(ledger["hours_saved_by_faster"].get<double>(), 1.0, 1e-9);
  EXPECT_NEAR(ledger["hours_lost_by_slower"].get<double>(), 0.25, 1e-9);
  EXPECT_NEAR(ledger["hours_saved"].get<double>(), 0.75, 1e-9);
  EXPECT_EQ(ledger["slower_files"], 1);
  EXPECT_EQ(ledger["files_left_at_default"], 1);
  EXPECT_NEAR(ledger["hours_spent_on_comparing"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(ledger["platforms"].size(), 1u);
}

TEST_F(Merge, HistoryHasEveryMove) {
  must(here_.add_observation(vpic_run(10), "one"));
  must(here_.add_tuning(on("ext4", "cb_nodes=2", 20)));
  Observation other = vpic_run(30);
  other.files[0].uses[0].pattern = one_dimensional(7, 4);
  must(here_.add_observation(other, "two"));
  Tuning reverted = on("ext4", "cb_nodes=2", 40);
  reverted.state = State::kReverted;
  reverted.evidence = "it lost";
  reverted.replaces = 1;
  must(here_.add_tuning(reverted));
  Json moves = Json::parse(must(here_.history(1)))["moves"];
  ASSERT_EQ(moves.size(), 4u) << moves.dump(1);
  EXPECT_EQ(moves[0]["kind"], "first seen");
  EXPECT_EQ(moves[1]["state"], "tuned");
  EXPECT_EQ(moves[2]["kind"], "drift");
  EXPECT_EQ(moves[2]["after"], "<1D,(BLOCK),(7)>");
  EXPECT_EQ(moves[3]["state"], "reverted");
  EXPECT_EQ(moves[3]["evidence"], "it lost");
  EXPECT_EQ(moves[3]["replaces"], 1);
  EXPECT_FALSE(here_.history(99));
}

TEST_F(Merge, ADriftToTheSameWordsTellsWhatIsDifferent) {
  must(here_.add_observation(vpic_run(10), "one"));
  Observation other = vpic_run(30);
  other.files[0].uses[0].pattern.mode = "collective";
  must(here_.add_observation(other, "two"));
  Json moves = Json::parse(must(here_.history(1)))["moves"];
  ASSERT_EQ(moves.size(), 2u) << moves.dump(1);
  EXPECT_EQ(moves[1]["before"].get<std::string>(),
            "<1D,(BLOCK),(8388608)> independent, 4 ranks, 4-byte elements");
  EXPECT_EQ(moves[1]["after"].get<std::string>(),
            "<1D,(BLOCK),(8388608)> collective, 4 ranks, 4-byte elements");
}

}  // namespace
}  // namespace iotune::patterndb::testing
