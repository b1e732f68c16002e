#include "patterndb/decide/unasked_opens.h"

#include <algorithm>

#include "patterndb/learn/observe.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

Tuning answered(const Pattern& pattern, State state, double made_at = 100,
                const std::string& filesystem = "ext4") {
  Tuning tuning = tuned(pattern, state == State::kTuned ? "cb_nodes=2" : "", made_at);
  tuning.state = state;
  tuning.platform = local_platform(filesystem);
  return tuning;
}

class Unasked : public Folder {
 protected:
  std::string db() const { return at("patterns.db"); }
  // vpic_run() writes one file; another one here, of another pattern.
  void observe(const std::string& file, const Pattern& pattern) {
    Observation run = vpic_run(50, "run of " + file);
    run.files[0].workload.file = file;
    run.files[0].uses[0].pattern = pattern;
    must(leave_in_spool(run, at("spool")));
    fold_spool(db(), at("spool"));
  }
  void tell(const Tuning& tuning) { must(create(db()).add_tuning(tuning)); }
  bool keeps_default() {
    const Observation run = vpic_run();
    return must(create(db()).keeps_default(run.files[0].workload));
  }
};

TEST_F(Unasked, EachPatternHasToHaveBeenTrained) {
  EXPECT_FALSE(keeps_default());  // nothing is known of the program
  observe("a#.h5", vpic());
  EXPECT_FALSE(keeps_default());
  tell(answered(vpic(), State::kUntrained));
  EXPECT_FALSE(keeps_default());
  tell(answered(vpic(), State::kDefaultIsBest, 200));
  EXPECT_TRUE(keeps_default());
  observe("b#.h5", one_dimensional(1000, 4));
  EXPECT_FALSE(keeps_default());
  tell(answered(one_dimensional(1000, 4), State::kReverted));
  EXPECT_TRUE(keeps_default());
}

TEST_F(Unasked, SettingsAnywhereAreAReasonToAsk) {
  observe("a#.h5", vpic());
  tell(answered(vpic(), State::kDefaultIsBest));
  EXPECT_TRUE(keeps_default());
  tell(answered(vpic(), State::kTuned, 90));  // older: who knows which of them holds where
  EXPECT_FALSE(keeps_default());
}

TEST_F(Unasked, WhereOthersAreTunedThePatternNeedsAnAnswerOfItsOwn) {
  observe("a#.h5", vpic());
  tell(answered(vpic(), State::kDefaultIsBest));
  tell(answered(one_dimensional(1000, 4), State::kTuned));
  EXPECT_TRUE(keeps_default()) << "on the platform where it was trained nothing is similar";
  tell(answered(one_dimensional(1000, 4), State::kTuned, 100, "lustre"));
  EXPECT_FALSE(keeps_default());
  tell(answered(vpic(), State::kDefaultIsBest, 100, "lustre"));
  EXPECT_TRUE(keeps_default());
}

TEST_F(Unasked, AfterSomeAnswersAndOnlyAsLongAsTheDatabaseSaysSo) {
  observe("a#.h5", vpic());
  tell(answered(vpic(), State::kDefaultIsBest));
  const Observation run = vpic_run();
  const Workload& workload = run.files[0].workload;
  const std::string program = "/somewhere/" + workload.program;
  iotune_question question = {};
  question.program = program.c_str();
  question.ranks = static_cast<std::uint32_t>(workload.ranks);
  question.nodes = static_cast<std::uint32_t>(workload.nodes);
  const Places places{db(), at("spool"), {}, {}};
  UnaskedOpens opens;
  const DatabaseFile before = *database_file(db());
  for (int i = 1; i < UnaskedOpens::kAsksBefore; ++i) {
    EXPECT_EQ(opens.after_answer(question, places, before), 0) << i;
  }
  EXPECT_EQ(opens.after_answer(question, places, before), UnaskedOpens::kOpens);
  opens.after_another_answer();
  for (int i = 1; i < UnaskedOpens::kAsksBefore; ++i) {
    EXPECT_EQ(opens.after_answer(question, places, before), 0) << "counted anew, " << i;
  }
  EXPECT_EQ(opens.after_answer(question, places, before), UnaskedOpens::kOpens);
  tell(answered(vpic(), State::kTuned, 300));
  EXPECT_EQ(opens.after_answer(question, places, before), UnaskedOpens::kOpens) << "looked once";
  DatabaseFile after = *database_file(db());
  after.nanoseconds += 1;  // a clock may be too coarse to tell
  EXPECT_EQ(opens.after_answer(question, places, after), 0);
  question.program = nullptr;
  EXPECT_EQ(UnaskedOpens().after_answer(question, places, before), 0);
}

TEST_F(Unasked, WithoutADatabaseEachFileIsAskedAbout) {
  iotune_question question = {};
  question.program = "/bin/vpic-io";
  UnaskedOpens opens;
  int most = 0;
  for (int i = 0; i < 3 * UnaskedOpens::kAsksBefore; ++i) {
    most = std::max(most, opens.after_answer(question, {db(), at("spool"), {}, {}}, {}));
  }
  EXPECT_EQ(most, 0);
  EXPECT_FALSE(exists(db()));
}

}  // namespace
}  // namespace iotune::patterndb::testing
