#include "patterndb/exchange/record_json.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Report : public Folder {
 protected:
  Json query(const std::string& text, std::optional<std::uint64_t> element_bytes = {}) {
    return Json::parse(must(db_.query(text, element_bytes)))["patterns"];
  }
  Json untrained(const PlatformFilter& filter = {}) {
    return Json::parse(must(db_.untrained(filter)))["untrained"];
  }
  PatternDb db_ = create(at("patterns.db"));
};

TEST_F(Report, QueryByDescriptorOfAnyElementSize) {
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  EXPECT_EQ(query("<1D, BLOCK, 8388608>").size(), 1u);
  EXPECT_EQ(query("<1D,(BLOCK),(8388608)>", 4).size(), 1u);
  EXPECT_EQ(query("<1D,(BLOCK),(8388608)>", 8).size(), 0u);
  EXPECT_EQ(query("<1D,(BLOCK),(4194304)>").size(), 0u);
}

TEST_F(Report, QueryInBytesFindsIorsTwin) {
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  for (const Json& found : {query("<1D,(BLOCK),(4194304)>", 8), query("<1D,(BLOCK),(33554432 B)>"),
                            query(byte_key(ior()))}) {
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0]["descriptor"], "<1D,(BLOCK),(8388608)>");
    EXPECT_EQ(found[0]["answers"][0]["settings"]["cb_nodes"], "2");
    EXPECT_EQ(found[0]["answers"][0]["gain"], 1.5);
  }
  EXPECT_FALSE(db_.query("nonsense", {}));
}

TEST_F(Report, AnswersReachTheTwinsRow) {
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  Tuning unreported = tuned(ior(), "");
  unreported.platform.filesystem = "xfs";
  unreported.state = State::kDefaultIsBest;
  must(db_.add_tuning(unreported));
  Json found = query("<1D,(BLOCK),(4194304)>");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["answers"].size(), 2u);
}

TEST_F(Report, TheNewestAnswerHoldsAndHistoryStays) {
  std::int64_t first = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2", 100)));
  Tuning reverted = tuned(vpic(), "cb_nodes=2", 200);
  reverted.state = State::kReverted;
  std::int64_t second = must(db_.add_tuning(reverted));
  EXPECT_NE(first, second);
  EXPECT_EQ(must(db_.add_tuning(reverted)), second);
  Json found = query("<1D,(BLOCK),(8388608)>")[0];
  ASSERT_EQ(found["answers"].size(), 1u);
  EXPECT_EQ(found["answers"][0]["state"], "reverted");
  EXPECT_EQ(found["history"].size(), 2u);
  Json shown = Json::parse(must(db_.show(found["id"])));
  EXPECT_EQ(shown, found);
  EXPECT_FALSE(db_.show(99));
}

TEST_F(Report, ListShowsWorkloads) {
  must(db_.add_observation(vpic_run(), "spool-1"));
  Json patterns = Json::parse(must(db_.list()))["patterns"];
  ASSERT_EQ(patterns.size(), 1u);
  EXPECT_EQ(patterns[0]["workloads"][0]["program"], "vpic-io");
  EXPECT_EQ(patterns[0]["workloads"][0]["datasets"], 8);
  EXPECT_TRUE(patterns[0]["answers"].empty());
}

TEST_F(Report, UntrainedNamesTheRunToTrainFrom) {
  must(db_.add_observation(vpic_run(50, "old"), "spool-1"));
  must(db_.add_observation(vpic_run(60, "new"), "spool-2"));
  Json list = untrained();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["run"], "new");
  EXPECT_EQ(list[0]["trace"], "/traces/a.iotrace");
  EXPECT_EQ(list[0]["dataset"], "/Step#0/x");
  EXPECT_EQ(list[0]["platform"]["filesystem"], "ext4");
  EXPECT_EQ(untrained({"ext4", "", "", ""}).size(), 1u);
  EXPECT_EQ(untrained({"lustre", "", "", ""}).size(), 0u);
  must(db_.add_tuning(tuned(ior(), "cb_nodes=2")));  // equal in bytes
  EXPECT_EQ(untrained().size(), 0u);
}

// docs/database.md: `iotune train` lists it with the untrained ones.
TEST_F(Report, WhatWasTakenBackIsToBeTrainedAnewAndNoOtherAnswerIs) {
  must(db_.add_observation(vpic_run(50), "spool-1"));
  double made_at = 100;
  for (State state : {State::kTuned, State::kReverted, State::kDefaultIsBest, State::kRefused,
                      State::kReverted, State::kTuned}) {
    Tuning answer = tuned(vpic(), state == State::kDefaultIsBest ? "" : "cb_nodes=2", made_at++);
    answer.state = state;
    must(db_.add_tuning(answer));
    EXPECT_EQ(untrained().size(), state == State::kReverted ? 1u : 0u) << state_name(state);
  }
}

TEST_F(Report, UntrainedForgetsPatternsThatTheWorkloadNoLongerShows) {
  must(db_.add_observation(vpic_run(50), "spool-1"));
  Observation later = vpic_run(60);
  later.files[0].uses[0].pattern = one_dimensional(1000, 4);
  must(db_.add_observation(later, "spool-2"));
  Json list = untrained();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["pattern"]["descriptor"], "<1D,(BLOCK),(1000)>");
}

TEST_F(Report, ReadsAndWritesOfOneFileBothWantAnAnswer) {
  Observation run = vpic_run();
  PatternUse reading = run.files[0].uses[0];
  reading.pattern.write = false;
  run.files[0].uses.push_back(reading);
  must(db_.add_observation(run, "spool-1"));
  EXPECT_EQ(untrained().size(), 2u);
}

TEST_F(Report, ObservationsGiveTheGain) {
  int n = 0;
  for (double seconds : {2.0, 2.2, 50.0}) {
    Observation run = vpic_run(10 + n, "default");
    run.files[0].seconds = seconds;
    must(db_.add_observation(run, "d" + std::to_string(n++)));
  }
  for (double seconds : {1.0, 1.1, 1.2}) {
    Observation run = vpic_run(20 + n, "tuned");
    run.files[0].seconds = seconds;
    run.files[0].settings = must(Settings::parse("cb_nodes=2"));
    must(db_.add_observation(run, "t" + std::to_string(n++)));
  }
  Workload workload = vpic_run().files[0].workload;
  for (const std::string& text :
       {must(db_.observations(1, {})), must(db_.observations({}, workload))}) {
    Json groups = Json::parse(text)["measured"];
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0]["settings_text"], "");
    EXPECT_EQ(groups[0]["median_seconds"], 2.2);
    EXPECT_EQ(groups[1]["median_seconds"], 1.1);
    EXPECT_NEAR(groups[1]["gain"].get<double>(), 2.0, 1e-9);
    EXPECT_EQ(groups[1]["files"], 3);
    EXPECT_EQ(groups[1]["runs"], 1);
  }
  const auto moved =
      static_cast<std::int64_t>(vpic_run().files[0].bytes_written + vpic_run().files[0].bytes_read);
  EXPECT_EQ(Json::parse(must(db_.observations({}, workload, moved)))["measured"].size(), 2u);
  EXPECT_TRUE(Json::parse(must(db_.observations({}, workload, 2 * moved)))["measured"].empty());
  const Json rest = Json::parse(must(db_.observations({}, workload, moved, {"tuned"})))["measured"];
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0]["settings_text"], "");
  workload.ranks = 5;
  EXPECT_TRUE(Json::parse(must(db_.observations({}, workload)))["measured"].empty());
}

}  // namespace
}  // namespace iotune::patterndb::testing
