// What a run does where a model is all that there is.
#include <gtest/gtest.h>

#include "fixtures.h"
#include "gain_model_bytes.h"
#include "patterndb/gains/stored_gains.h"
#include "patterndb/observe.h"
#include "patterndb/places.h"
#include "patterndb/spool.h"

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
    places.lower = lower_;
    Question question = vpic_question();
    question.frozen = frozen_;
    return must(decide(question, places));
  }
  std::string lower_;
  bool frozen_ = false;
};

TEST_F(Predicted, WhatTheModelIsSureOfIsApplied) {
  EXPECT_EQ(ask().source, "untrained");
  learn();
  const Decision decision = ask();
  EXPECT_EQ(decision.source, "predicted");
  EXPECT_EQ(decision.settings.text(), "alignment=4194304,1048576");
  EXPECT_EQ(decision.message.find("predicted from 30 measured patterns, gain 1.649 [1.492, 1.822]"),
            0u)
      << decision.message;
}

TEST_F(Predicted, SomeRunsStayAtTheDefaultToCompare) {
  learn();
  EXPECT_EQ(ask(0.2).source, "explore");
  EXPECT_TRUE(ask(0.2).settings.empty());
}

TEST_F(Predicted, AnIntervalThatHoldsOneIsNotEnough) {
  learn(0.6);
  const Decision decision = ask();
  EXPECT_EQ(decision.source, "untrained");
  EXPECT_NE(decision.message.find("no gain that it is sure of"), std::string::npos);
}

TEST_F(Predicted, AModelOfAnotherPlatformSaysNothing) {
  learn(0.1, local_platform("cephfs"));
  EXPECT_EQ(ask().source, "untrained");
}

TEST_F(Predicted, ASitesModelHoldsForItsUsers) {
  learn(0.1, local_platform(), "site.db");
  lower_ = at("site.db");
  EXPECT_EQ(ask().source, "predicted");
}

TEST_F(Predicted, AFrozenSiteAppliesWhatWasMeasuredAlone) {
  learn();
  frozen_ = true;
  EXPECT_EQ(ask().source, "untrained");
}

TEST_F(Predicted, WhatWasMeasuredGoesBefore) {
  learn();
  must(create(at("patterns.db")).add_tuning(tuned(vpic(), "romio_cb_write=disable")));
  EXPECT_EQ(ask().source, "exact");
}

}  // namespace
}  // namespace iotune::patterndb::testing
