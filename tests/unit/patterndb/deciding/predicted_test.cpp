// What a run does where a model is all that there is.
#include <gtest/gtest.h>

#include "patterndb/gains/stored_gains.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/deciding/gain_model_bytes.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Predicted : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    must(leave_in_spool(vpic_run(50), at("spool")));
    fold_spool(at("patterns.db"), at("spool"));
  }
  // The tree gives what is aligned a gain of e^0.5.
  void learn(double floor = 0.1, Platform platform = local_platform(),
             const char* to = "patterns.db") {
    HandMade made;
    made.input = place_of("log2_alignment_bytes");
    made.threshold = 10;
    made.above = 0.5;
    made.floor = floor;
    must(create(at(to)).add_gain_model({std::move(platform), bytes_of(made),
                                        "meta_block_size=1048576\nalignment=4194304,1048576\n"
                                        "cb_nodes=64;cb_config_list=*:64",
                                        "", "{}", 30, 900, 100}));
  }
  Decision ask(double drawn = 0.99) {
    Places places{at("patterns.db"), at("spool"), "", drawn};
    if (!lower_.empty()) places.lower = {lower_};
    Question question = vpic_question();
    question.frozen = frozen_;
    return must(decide(question, places));
  }
  std::string lower_;
  bool frozen_ = false;
};

TEST_F(Predicted, WhatTheModelIsSureOfIsApplied) {
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);
  learn();
  const Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_PREDICTED);
  EXPECT_EQ(decision.settings.text(), "alignment=4194304,1048576");
  EXPECT_EQ(decision.message.find("predicted from 30 measured patterns, gain 1.649 [1.492, 1.822]"),
            0u)
      << decision.message;
}

// A run that got settings by prediction.
Observation predicted_run(double at, const char* source, double seconds) {
  Observation run = vpic_run(at, "run-" + std::to_string(static_cast<int>(at)));
  run.files[0].decision_source = source;
  run.files[0].seconds = seconds;
  if (std::string(source) != "explore") {
    run.files[0].settings = must(Settings::parse("alignment=4194304,1048576"));
  }
  return run;
}

TEST_F(Predicted, WhatItExpectsWithoutBeingSureIsForASeriesToTry) {
  learn(2.0);
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(ask().hopeful.empty()) << "alignment changes what is on disk";
  HandMade made;
  made.input = place_of("log2_sieve_bytes");
  made.threshold = 20;
  made.above = 0.5;
  made.floor = 2.0;
  must(create(at("patterns.db"))
           .add_gain_model({local_platform(), bytes_of(made), "sieve_buf_size=4194304", "", "{}",
                            30, 900, 200}));
  const Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(decision.settings.empty());
  EXPECT_EQ(decision.hopeful.text(), "sieve_buf_size=4194304");
}

TEST_F(Predicted, WhatARunGotIsTheUsersAnswerFromThenOn) {
  learn();
  EXPECT_EQ(ask(0.1).source, IOTUNE_SOURCE_PREDICTED) << "the runs before were at the default";
  must(leave_in_spool(predicted_run(60, "predicted", 2), at("spool")));
  fold_spool(at("patterns.db"), at("spool"));
  const Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(decision.settings.text(), "alignment=4194304,1048576");
  EXPECT_EQ(decision.message.find("predicted by a model, not measured yet"), 0u)
      << decision.message;
  EXPECT_EQ(ask(0.2).source, IOTUNE_SOURCE_EXPLORE)
      << "some runs are left at the default to compare";
}

TEST_F(Predicted, WhatLosesInTheUsersRunsIsTakenBack) {
  learn();
  must(leave_in_spool(predicted_run(60, "predicted", 6), at("spool")));
  fold_spool(at("patterns.db"), at("spool"));
  const std::int64_t row = ask().row;
  ASSERT_GT(row, 0);
  for (int i = 0; i < 60; ++i) {
    Observation run = predicted_run(100 + i, i % 2 == 0 ? "exact" : "explore", i % 2 == 0 ? 6 : 2);
    run.files[0].decision_row = row;
    must(leave_in_spool(run, at("spool")));
    fold_spool(at("patterns.db"), at("spool"));
  }
  const Decision decision = ask();
  EXPECT_EQ(decision.state, State::kReverted) << decision.message;
  EXPECT_TRUE(decision.settings.empty());
}

TEST_F(Predicted, AnIntervalThatHoldsOneIsNotEnough) {
  learn(0.6);
  const Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_NE(decision.message.find("no gain that it is sure of"), std::string::npos);
}

TEST_F(Predicted, AModelOfAnotherPlatformSaysNothing) {
  learn(0.1, local_platform("cephfs"));
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);
}

TEST_F(Predicted, ASitesModelHoldsForItsUsers) {
  learn(0.1, local_platform(), "site.db");
  lower_ = at("site.db");
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_PREDICTED);
}

TEST_F(Predicted, AFrozenSiteAppliesWhatWasMeasuredAlone) {
  learn();
  frozen_ = true;
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);
}

TEST_F(Predicted, WhatWasMeasuredGoesBefore) {
  learn();
  must(create(at("patterns.db")).add_tuning(tuned(vpic(), "romio_cb_write=disable")));
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_EXACT);
}

}  // namespace
}  // namespace iotune::patterndb::testing
