// A site's answer in the hands of one user: his runs confirm it or take it back for himself.
#include "patterndb/decide/site_copies.h"

#include "core/words/decision_words.h"
#include "patterndb/exchange/record_json.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

constexpr char kSettings[] = "cb_nodes=2";

class SiteCopies : public Folder {
 protected:
  SiteCopies() { answer(kSettings, 100); }

  // What the site has measured.
  void answer(const std::string& settings, double made_at) {
    Tuning tuning = tuned(vpic(), settings, made_at);
    tuning.source = "train";
    tuning.evidence = "for vpic-io vpic#.h5";
    tuning.gain = 2;
    tuning.low = 1.8;
    tuning.high = 2.2;
    tuning.rounds = 9;
    must(create(site_).add_tuning(tuning));
  }
  Decision asked(double draw = 1) {
    Places places{own_, "", "", draw};
    places.lower = lower_;
    return must(decide(vpic_question(), places));
  }
  // A run that got this, and took this long.
  void run(const Decision& decision, double seconds = 1) {
    ++now_;
    Observation observation = vpic_run(now_, "run-" + std::to_string(now_));
    ObservedFile& file = observation.files[0];
    file.decision_source = source_name(decision.source);
    file.decision_row = decision.row;
    file.settings = decision.settings;
    file.seconds = seconds;
    PatternDb db = must(PatternDb::open(own_, {Access::kCreate, 500, lower_}));
    must(db.add_observation(observation, "spool-" + std::to_string(now_)));
  }
  // Every eighth run is left at the default, which is nine times as quick.
  void run_until_taken_back() {
    run(asked());
    ASSERT_GE(asked().row, 0);
    for (int i = 0; i < 200 && asked().state == State::kTuned; ++i) {
      const Decision decision = asked(i % 8 == 0 ? 0 : 1);
      ASSERT_EQ(decision.source, i % 8 == 0 ? IOTUNE_SOURCE_EXPLORE : IOTUNE_SOURCE_EXACT);
      run(decision, decision.settings.empty() ? 1 : 9);
    }
    ASSERT_EQ(asked().state, State::kReverted) << asked().message;
  }
  Json own_rows() {
    PatternDb db = must(PatternDb::open(own_, {}));
    return Json::parse(must(db.export_json()))["tunings"];
  }

  std::string site_ = at("site.db"), own_ = at("patterns.db");
  std::vector<std::string> lower_ = {site_};
  double now_ = 1000;
};

TEST_F(SiteCopies, ARunThatGotItLeavesACopy) {
  run(Decision());
  const Decision first = asked(0);
  EXPECT_EQ(first.settings.text(), kSettings) << "the first run is not left at the default";
  EXPECT_EQ(first.row, -1);
  run(first);
  const Json rows = own_rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["source"], kCopySource);
  EXPECT_EQ(rows[0]["gain"], 2);
  EXPECT_EQ(rows[0]["evidence"], "copied from " + site_ + ": for vpic-io vpic#.h5");
  const Decision next = asked();
  EXPECT_EQ(next.settings.text(), kSettings);
  EXPECT_EQ(next.row, rows[0]["id"]);
  EXPECT_NE(next.message.find("copied from " + site_), std::string::npos) << next.message;
  EXPECT_EQ(asked(0).source, IOTUNE_SOURCE_EXPLORE);
  // With answers of the copy, runs make no other.
  run(next);
  EXPECT_EQ(own_rows().size(), 1u);
}

TEST_F(SiteCopies, RunsThatNobodyDrewAreNoEvidence) {
  run(Decision());
  // All of one moment: none of them knew of a copy.
  const Decision first = asked();
  for (int i = 0; i < 20; ++i) run(first, 9);
  const Json rows = own_rows();
  ASSERT_EQ(rows.size(), 1u);
  PatternDb db = must(PatternDb::open(own_, {}));
  const Json history = Json::parse(must(db.history(rows[0]["pattern"].get<std::int64_t>())));
  EXPECT_EQ(history["trials"].size(), 0u);
}

TEST_F(SiteCopies, OneThatLosesIsTakenBackForThisUserAlone) {
  run(Decision());
  const std::string before = read_file(site_);
  run_until_taken_back();
  EXPECT_TRUE(asked().settings.empty());
  EXPECT_NE(asked().message.find("taken back"), std::string::npos);
  EXPECT_EQ(read_file(site_), before);
  own_ = at("of-another.db");
  run(Decision());
  EXPECT_EQ(asked().settings.text(), kSettings);
  EXPECT_EQ(asked().state, State::kTuned);
}

TEST_F(SiteCopies, WhatTheSiteMeasuresAnewHoldsIfItIsSomethingElse) {
  run(Decision());
  run_until_taken_back();
  answer(kSettings, 5000);
  EXPECT_EQ(asked().state, State::kReverted) << "the same settings were tried here";
  answer("cb_nodes=4", 6000);
  const Decision newer = asked();
  EXPECT_EQ(newer.settings.text(), "cb_nodes=4");
  run(newer);
  EXPECT_GE(asked().row, 0);
  EXPECT_EQ(asked().settings.text(), "cb_nodes=4");
}

TEST_F(SiteCopies, ACopyThatHoldsGivesWayToo) {
  run(Decision());
  run(asked());
  const std::int64_t copy = asked().row;
  answer(kSettings, 200);
  EXPECT_EQ(asked().row, copy) << "the same again: its test goes on";
  answer("cb_nodes=4", 300);
  EXPECT_EQ(asked().settings.text(), "cb_nodes=4");
  Tuning best = tuned(vpic(), "", 400);
  best.state = State::kDefaultIsBest;
  must(create(site_).add_tuning(best));
  EXPECT_EQ(asked().state, State::kDefaultIsBest);
}

// The new answer was made before the user's runs took the old one back, and came here afterwards.
TEST_F(SiteCopies, ANewAnswerIsNotHiddenBehindWhatItReplaces) {
  run(Decision());
  run_until_taken_back();
  answer("cb_nodes=4", 500);
  run(asked());
  EXPECT_EQ(asked().settings.text(), "cb_nodes=4");
  EXPECT_GE(asked().row, 0);
}

TEST_F(SiteCopies, WhatTheUserTrainedHimselfStays) {
  run(Decision());
  run(asked());
  Tuning own = tuned(vpic(), "cb_nodes=8", 200);
  own.source = "train";
  must(create(own_).add_tuning(own));
  answer("cb_nodes=4", 9000);
  EXPECT_EQ(asked().settings.text(), "cb_nodes=8");
}

TEST_F(SiteCopies, ARunOfAnotherAnswerIsNoCopyOfThisOne) {
  run(Decision());
  const Decision old = asked();
  answer("cb_nodes=4", 200);  // the site's file was replaced before the run was learnt from
  run(old);
  EXPECT_EQ(own_rows().size(), 0u);
}

TEST_F(SiteCopies, TheFirstOfSeveralLayersIsCopied) {
  const std::string second = at("second.db");
  must(create(second).add_tuning(tuned(vpic(), "cb_nodes=16", 4000)));
  lower_ = {at("missing.db"), site_, second};
  run(Decision());
  run(asked());
  EXPECT_EQ(asked().settings.text(), kSettings);
  EXPECT_GE(asked().row, 0);
  EXPECT_EQ(own_rows()[0]["made_at"], 100);
  lower_ = {second, site_};
  own_ = at("of-another.db");
  run(Decision());
  EXPECT_EQ(asked().settings.text(), "cb_nodes=16");
}

TEST_F(SiteCopies, ASimilarPatternsAnswerIsCopiedAndTakenBack) {
  site_ = at("similar.db");
  lower_ = {site_};
  must(create(site_).add_tuning(tuned(one_dimensional(8388000, 4), kSettings)));
  must(create(site_).add_observation(vpic_run(), "of-the-site"));
  run(Decision());
  const Decision first = asked(0);
  ASSERT_EQ(first.source, IOTUNE_SOURCE_SIMILAR) << first.message;
  EXPECT_EQ(first.row, -1);
  EXPECT_EQ(first.settings.text(), kSettings);
  run(first);
  EXPECT_GE(asked().row, 0);
  EXPECT_EQ(asked().source, IOTUNE_SOURCE_SIMILAR);
  for (int i = 0; i < 200 && asked().state == State::kTuned; ++i) {
    const Decision decision = asked(i % 8 == 0 ? 0 : 1);
    run(decision, decision.settings.empty() ? 1 : 9);
  }
  EXPECT_EQ(asked().state, State::kReverted) << asked().message;
  EXPECT_TRUE(asked().settings.empty());
}

TEST_F(SiteCopies, AMergeIntoTheSiteFindsTheOriginal) {
  run(Decision());
  run(asked());
  run(asked(), 9);
  PatternDb site = must(PatternDb::open(site_, {Access::kReadWrite, 500, {}}));
  const Json report = Json::parse(must(site.merge(own_, {})));
  EXPECT_EQ(report["tunings"], 0);
  EXPECT_EQ(report["observations"], 3);
  const Json merged = Json::parse(must(site.export_json()));
  ASSERT_EQ(merged["tunings"].size(), 1u);
  EXPECT_EQ(merged["tunings"][0]["source"], "train");
  EXPECT_EQ(merged["observations"][2]["decision_row"], merged["tunings"][0]["id"]);
  // Elsewhere it is an answer as any.
  PatternDb other = create(at("other.db"));
  EXPECT_EQ(Json::parse(must(other.merge(own_, {})))["tunings"], 1);
}

}  // namespace
}  // namespace iotune::patterndb::testing
