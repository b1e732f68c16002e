#include "patterndb/matching/neighbours.h"

#include <cmath>

#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

using analyzer::Distribution;

Pattern blocks(std::vector<std::uint64_t> counts, std::vector<std::uint64_t> grid,
               std::uint64_t element_bytes, const char* mode = "independent") {
  Pattern pattern;
  pattern.write = true;
  pattern.element_bytes = element_bytes;
  pattern.mode = mode;
  pattern.ranks = 1;
  pattern.grid = grid;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    pattern.ranks *= grid[d];
    pattern.dataset_dims.push_back(counts[d] * grid[d]);
    pattern.descriptor.dimensions.push_back(
        {grid[d] > 1 ? Distribution::kBlock : Distribution::kWhole, counts[d], 1});
  }
  return pattern;
}

Pattern vorpal() {
  return blocks({60, 100, 300}, {2, 2, 2}, 8);
}
Pattern resemble_vorpal() {
  return blocks({64, 128, 256}, {2, 2, 2}, 8);
}
Pattern gcrm(const char* mode = "independent") {
  return blocks({1, 1, 327680}, {1, 1, 8}, 4, mode);
}
Pattern flash(const char* mode = "independent") {
  return blocks({80, 8, 8, 8}, {8, 1, 1, 1}, 8, mode);
}
Pattern column() {
  return blocks({16384, 64}, {1, 8}, 8);
}

Geometry shape(const Pattern& pattern) {
  Geometry geometry;
  EXPECT_TRUE(geometry_of(pattern, geometry));
  return geometry;
}

double apart(const Pattern& a, const Pattern& b) {
  return distance(shape(a), a.ranks, shape(b), b.ranks);
}

TEST(Geometry, OfThePapersKernels) {
  EXPECT_EQ(shape(vpic()).piece_bytes, 33554432);
  EXPECT_EQ(shape(vpic()).pieces, 1);
  EXPECT_EQ(shape(vorpal()).piece_bytes, 2400);
  EXPECT_EQ(shape(vorpal()).pieces, 6000);
  EXPECT_EQ(shape(gcrm()).piece_bytes, 1310720);
  EXPECT_EQ(shape(gcrm()).pieces, 1);
  EXPECT_EQ(shape(flash()).piece_bytes, 327680);
  EXPECT_EQ(shape(flash()).pieces, 1);
  EXPECT_EQ(shape(column()).piece_bytes, 512);
  EXPECT_EQ(shape(column()).pieces, 16384);
}

TEST(Geometry, CyclicAndWhatIsUnknown) {
  Pattern cyclic = one_dimensional(20000, 8);
  cyclic.descriptor.dimensions[0].distribution = Distribution::kCyclic;
  EXPECT_EQ(shape(cyclic).piece_bytes, 8);
  EXPECT_EQ(shape(cyclic).pieces, 20000);
  cyclic.descriptor.dimensions[0] = {Distribution::kCyclicK, 20000, 100};
  EXPECT_EQ(shape(cyclic).piece_bytes, 800);
  EXPECT_EQ(shape(cyclic).pieces, 200);
  Geometry geometry;
  cyclic.descriptor.dimensions[0].distribution = Distribution::kIrregular;
  EXPECT_FALSE(geometry_of(cyclic, geometry));
  Pattern unknown = vpic();
  unknown.dataset_dims.clear();
  EXPECT_FALSE(geometry_of(unknown, geometry));
}

TEST(Distance, OfThePapersKernels) {
  EXPECT_EQ(apart(vpic(), ior()), 0);  // equal in bytes
  EXPECT_NEAR(apart(vorpal(), resemble_vorpal()), 0.34, 0.01);
  EXPECT_DOUBLE_EQ(apart(gcrm(), flash()), 1);
  EXPECT_DOUBLE_EQ(apart(flash(), gcrm()), 1);
  Pattern twice = blocks({60, 100, 300}, {4, 2, 2}, 8);
  EXPECT_DOUBLE_EQ(apart(vorpal(), twice), 1);
}

TEST(Distance, Walls) {
  EXPECT_EQ(incomparable(vorpal(), resemble_vorpal()), "");
  EXPECT_EQ(incomparable(gcrm(), flash()), "");
  EXPECT_NE(incomparable(gcrm("collective"), flash()), "");
  EXPECT_NE(incomparable(column(), gcrm()), "");  // interleaved or not
  Pattern read = gcrm();
  read.write = false;
  EXPECT_NE(incomparable(read, gcrm()), "");
  Pattern chunked = gcrm();
  chunked.chunk = {1, 1, 1000};
  EXPECT_NE(incomparable(chunked, gcrm()), "");
  Pattern alone = one_dimensional(100, 4, 1);
  EXPECT_NE(incomparable(alone, vpic()), "");
}

// A program "asker" whose pattern has no answer, in a database with others'.
class Similar : public Folder {
 protected:
  void ask_for(const Pattern& pattern, double seconds = 2, const std::string& settings = "",
               double at = 50) {
    Observation run = vpic_run(at, "run-" + std::to_string(at));
    run.files[0].workload.ranks = pattern.ranks;
    run.files[0].uses[0].pattern = pattern;
    run.files[0].settings = must(Settings::parse(settings));
    run.files[0].seconds = seconds;
    must(create(this->at("patterns.db")).add_observation(run, "o" + std::to_string(at)));
    asked_ = pattern;
  }
  void tell(const Tuning& tuning) { must(create(at("patterns.db")).add_tuning(tuning)); }
  void tell(const Pattern& pattern, State state, const std::string& settings = "cb_nodes=2",
            double when = 100) {
    Tuning tuning = tuned(pattern, settings, when);
    tuning.state = state;
    if (settings.empty()) tuning.gain = tuning.low = tuning.high = std::nullopt;
    tell(tuning);
  }
  void tried(const Pattern& pattern, const std::string& lines) {
    const Platform platform = local_platform();
    const std::string text =
        R"({"format": "iotune-patterns", "version": 1, "platforms": [{"id": 1, "filesystem": ")" +
        platform.filesystem + R"(", "mpi": ")" + platform.mpi + R"(", "hdf5": ")" + platform.hdf5 +
        R"(", "host_class": ")" + platform.host_class + R"("}], "models": [{"name": "trials )" +
        byte_key(pattern) + R"(", "kind": "coefficients", "platform": 1, "payload": ")" + lines +
        R"(\n", "made_at": 10}]})";
    must(create(at("patterns.db")).import_json(text, "test"));
  }
  Decision answer() {
    Question question = vpic_question();
    question.ranks = static_cast<std::uint32_t>(asked_.ranks);
    return must(decide(question, {at("patterns.db"), at("spool"), "", 0.99}));
  }
  Pattern asked_;
};

TEST_F(Similar, TheNearestAnswerIsTakenAndItsDistanceShown) {
  ask_for(resemble_vorpal());
  tell(vorpal(), State::kTuned, "cb_nodes=2");
  tell(blocks({60, 200, 100}, {2, 2, 2}, 8), State::kTuned, "cb_nodes=4");
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_SIMILAR);
  EXPECT_EQ(decision.settings.text(), "cb_nodes=2");
  EXPECT_EQ(decision.row, 1);
  EXPECT_NEAR(decision.distance.value_or(-1), 0.34, 0.01);
  EXPECT_NE(decision.message.find("similar to <3D,(BLOCK,BLOCK,BLOCK),(60,100,300)>"),
            std::string::npos)
      << decision.message;
}

TEST_F(Similar, AnAnswerOfItsOwnComesFirst) {
  ask_for(resemble_vorpal());
  tell(vorpal(), State::kTuned, "cb_nodes=2");
  tell(resemble_vorpal(), State::kDefaultIsBest, "");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_EXACT);
  EXPECT_TRUE(answer().settings.empty());
}

TEST_F(Similar, TooFarIsLeftAloneAndSaid) {
  ask_for(resemble_vorpal());
  tell(blocks({6, 100, 300}, {2, 2, 2}, 8), State::kTuned);
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(decision.settings.empty());
  EXPECT_GT(decision.distance.value_or(-1), kFarthest);
  EXPECT_NE(decision.message.find("too far"), std::string::npos) << decision.message;
}

TEST_F(Similar, FlashReceivesGcrmS) {
  ask_for(flash());
  tell(gcrm(), State::kTuned, "striping_factor=16");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR);
  EXPECT_EQ(answer().settings.text(), "striping_factor=16");
  EXPECT_EQ(answer().distance, 1);
}

TEST_F(Similar, WhatIsBestLeftAloneIsLeftAloneThereToo) {
  ask_for(flash());
  tell(gcrm(), State::kDefaultIsBest, "");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR);
  EXPECT_EQ(answer().state, State::kDefaultIsBest);
  EXPECT_TRUE(answer().settings.empty());
}

TEST_F(Similar, AnotherModeIsNoNeighbour) {
  ask_for(flash("independent"));
  tell(gcrm("collective"), State::kTuned, "romio_cb_write=enable");
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_NE(decision.message.find("one is independent, the other collective"), std::string::npos)
      << decision.message;
  EXPECT_NE(decision.message.find("at distance 1"), std::string::npos) << decision.message;
  EXPECT_EQ(decision.distance, 1);
  EXPECT_NE(packed_lines(decision).find("\nthousandths 1000\n"), std::string::npos);
}

TEST_F(Similar, WhatWasSaidByHandIsMeasuredBeforeItSpreads) {
  ask_for(flash());
  Tuning by_hand = tuned(gcrm(), "striping_factor=16", 100);
  by_hand.gain = by_hand.low = by_hand.high = std::nullopt;
  tell(by_hand);
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(decision.settings.empty());
  EXPECT_NE(decision.message.find("never measured"), std::string::npos) << decision.message;
  tried(gcrm(), "1.4 striping_factor=16");
  EXPECT_EQ(answer().settings.text(), "striping_factor=16");
}

TEST_F(Similar, RefusedWhereItsOwnTrialLost) {
  ask_for(flash());
  tell(gcrm(), State::kTuned, "romio_cb_write=enable");
  tried(flash(), R"(0.19 romio_cb_write=enable\n1.1 cb_nodes=2)");
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(decision.settings.empty());
  EXPECT_EQ(decision.distance, 1);
  EXPECT_NE(decision.message.find("0.19 times"), std::string::npos) << decision.message;
}

TEST_F(Similar, RunsThatLeaveADoubtRefuseNothing) {
  ask_for(flash(), 2, "", 50);
  tell(gcrm(), State::kTuned, "romio_cb_write=enable");
  ask_for(flash(), 10, "romio_cb_write=enable", 51);
  ask_for(flash(), 11, "romio_cb_write=enable", 52);
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR) << "two runs are no evidence";
  ask_for(flash(), 1.9, "romio_cb_write=enable", 53);
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR) << "one run was faster";
  for (int more = 0; more < 3; ++more) ask_for(flash(), 1.5, "", 60 + more);
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR) << "still one default run was slower";
}

TEST_F(Similar, ThreeSlowRunsTakeItBack) {
  ask_for(flash(), 2, "", 50);
  tell(gcrm(), State::kTuned, "romio_cb_write=enable");
  for (int run = 1; run <= 3; ++run) ask_for(flash(), 10, "romio_cb_write=enable", 50 + run);
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_NE(answer().message.find("0.2 times"), std::string::npos) << answer().message;
}

TEST_F(Similar, RefusedWhereANeighbourAsNearIsBestLeftAlone) {
  ask_for(flash());
  tell(gcrm(), State::kTuned);
  tell(blocks({1, 1, 500000}, {1, 1, 8}, 4), State::kReverted);
  const Decision decision = answer();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_NE(decision.message.find("best left alone"), std::string::npos) << decision.message;
}

TEST_F(Similar, RegretOfTheSameDistanceRefuses) {
  // Settings of A lost on B, as far from A as the asker is from its nearest: the same bet.
  ask_for(flash());
  const Pattern larger = blocks({1, 1, 655360}, {1, 1, 8}, 4);  // 0.5 from gcrm, 1.5 from flash
  tell(gcrm(), State::kTuned, "romio_cb_write=enable");
  tell(larger, State::kTuned, "striping_factor=16");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR);
  tried(larger, "0.6 romio_cb_write=enable");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_NE(answer().message.find("0.6 times"), std::string::npos) << answer().message;
  // What was measured on the pattern itself needs no such guess.
  tried(flash(), "1.7 romio_cb_write=enable");
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_SIMILAR);
}

TEST_F(Similar, AnotherPlatformSaysNothing) {
  ask_for(resemble_vorpal());
  Tuning elsewhere = tuned(vorpal(), "cb_nodes=2");
  elsewhere.platform = local_platform("cephfs");
  tell(elsewhere);
  EXPECT_EQ(answer().source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_EQ(answer().distance, std::nullopt);
  EXPECT_EQ(packed_lines(answer()).find("thousandths "), std::string::npos);
}

}  // namespace
}  // namespace iotune::patterndb::testing
