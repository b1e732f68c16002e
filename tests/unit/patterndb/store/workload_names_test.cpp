// Which files are one workload.
#include "patterndb/matching/workload_names.h"

#include "analyzer/summary/masked_name.h"
#include "patterndb/decide/drift_in_run.h"
#include "patterndb/decide/run_answers.h"
#include "patterndb/store/places.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

TEST(MaskedName, DigitsOfAFormatAreNoNumbers) {
  for (const auto& [name, masked] : {std::pair("o_h0.h5", "o_h#.h5"),
                                     {"a12.nc4", "a#.nc4"},
                                     {"b.hdf5", "b.hdf5"},
                                     {"c3.bp5", "c#.bp5"},
                                     {"reads.fast5", "reads.fast5"},
                                     {"m1.s3d", "m#.s3d"},
                                     // What counts ranks and steps does.
                                     {"out.0001", "out.#"},
                                     {"out.p1", "out.p#"},
                                     {"log.rank3", "log.rank#"},
                                     {"dump.t1", "dump.t#"},
                                     {"x.h5.12", "x.h#.#"},
                                     {"plt12", "plt#"}}) {
    EXPECT_EQ(masked_name(name), masked);
    EXPECT_EQ(analyzer::shared_numbers(masked, name), 0) << name;
  }
}

TEST(MaskedName, TellsHowManyNumbersAreKept) {
  EXPECT_EQ(analyzer::shared_numbers("o_h0_#.nc", "o_h0_12.nc"), 1);
  EXPECT_EQ(analyzer::shared_numbers("o_h0_#.nc", "o_h1_12.nc"), -1);
  EXPECT_EQ(analyzer::shared_numbers("o_h1_#.nc", "o_h12_3.nc"), -1);
  EXPECT_EQ(analyzer::shared_numbers("o_h0_12.nc", "o_h0_12.nc"), 2);
  EXPECT_EQ(analyzer::shared_numbers("o_#", "o_1.nc"), -1);
  EXPECT_EQ(analyzer::shared_numbers("vpic#.h#", "vpic12.h5"), 0);  // of an older version
}

using Positions = std::vector<std::size_t>;

TEST(TellingNumbers, AreThoseThatAPatternGoesWith) {
  EXPECT_EQ(telling_numbers({{"o_h0.h5", "a"}, {"o_h1.h5", "b"}}, false), Positions{0});
  // Two streams of history files, each a series.
  EXPECT_EQ(telling_numbers({{"h0.2001-01.nc", "a"},
                             {"h1.2001-01.nc", "b"},
                             {"h0.2001-02.nc", "a"},
                             {"h1.2001-02.nc", "b"}},
                            false),
            Positions{0});
  EXPECT_EQ(masked_but("h1.2001-02.nc", {0}), "h1.#-#.nc");
  // Only both numbers together tell.
  EXPECT_EQ(telling_numbers({{"a0_0", "a"}, {"a0_1", "b"}, {"a1_0", "b"}, {"a1_1", "a"}}, false),
            (Positions{0, 1}));
}

TEST(TellingNumbers, ASeriesThatChangesIsOneSeries) {
  std::vector<NamedFile> files;
  for (int i = 0; i < 10; ++i) {
    files.push_back({"plt" + std::to_string(i), i < 5 ? "coarse" : "fine"});
  }
  EXPECT_EQ(telling_numbers(files, false), Positions{});
  // The same run once more: each file is what it was.
  EXPECT_EQ(telling_numbers(files, true), Positions{0});
  EXPECT_EQ(telling_numbers({{"plt00100.h5", "a"}, {"plt00200.h5", "b"}}, false), Positions{});
  EXPECT_EQ(telling_numbers({{"plt1", "a"}, {"plt2", "a"}}, false), Positions{});
  // Nothing in the names goes with the patterns.
  EXPECT_EQ(telling_numbers({{"plt1", "a"}, {"plt1", "b"}}, true), Positions{});
}

class Outputs : public Folder {
 protected:
  // A run writes files of these names and patterns.
  void run(const std::vector<std::pair<std::string, Pattern>>& files) {
    at_ += 10;
    const std::string run = "run-" + std::to_string(at_);
    Observation observation = vpic_run(at_, run);
    const ObservedFile first = observation.files.front();
    observation.files.clear();
    for (const auto& [name, pattern] : files) {
      ObservedFile file = first;
      file.path = "/scratch/" + name;
      file.workload.file = masked_name(name);
      file.uses = {{pattern, "/x", 1, 1, true}};
      file.observed_at = at_ + static_cast<double>(observation.files.size());
      observation.files.push_back(file);
    }
    ASSERT_TRUE(must(db_.add_observation(observation, run)));
  }
  Decision asked(const std::string& name) {
    Question question = vpic_question();
    question.file = "/scratch/" + name;
    return must(decide(question, {at("p.db"), "", "", 1}));
  }
  // A tuning for a pattern on the platform that asked() names.
  void answer(const Pattern& pattern, const std::string& settings) {
    must(db_.add_tuning(tuned(pattern, settings, 1000)));
  }

  PatternDb db_ = create(at("p.db"));
  double at_ = 0;
};

TEST_F(Outputs, EachKeepsItsAnswer) {
  const Pattern one = vpic(), other = one_dimensional(1000, 8);
  for (int i = 0; i < 3; ++i) run({{"o_h0.h5", one}, {"o_h1.h5", other}});
  answer(one, "cb_nodes=2");
  answer(other, "cb_nodes=4");
  for (int i = 0; i < 3; ++i) {
    run({{"o_h0.h5", one}, {"o_h1.h5", other}});
    EXPECT_EQ(asked("o_h0.h5").settings.text(), "cb_nodes=2");
    EXPECT_EQ(asked("o_h1.h5").settings.text(), "cb_nodes=4");
    EXPECT_TRUE(asked("o_h0.h5").by_name);
  }
  EXPECT_EQ(asked("o_h2.h5").source, IOTUNE_SOURCE_UNKNOWN);
  // A run with one of them alone is that one's.
  run({{"o_h1.h5", other}});
  EXPECT_EQ(asked("o_h0.h5").settings.text(), "cb_nodes=2");
  // One whose pattern changes drifts alone.
  run({{"o_h0.h5", one_dimensional(50, 8)}, {"o_h1.h5", other}});
  EXPECT_EQ(asked("o_h1.h5").settings.text(), "cb_nodes=4");
  EXPECT_EQ(asked("o_h0.h5").settings.text(), "");
}

TEST_F(Outputs, ASeriesStaysOneWorkload) {
  run({{"plt001.h5", vpic()}, {"plt002.h5", vpic()}});
  answer(vpic(), "cb_nodes=2");
  const Decision decision = asked("plt117.h5");
  EXPECT_EQ(decision.settings.text(), "cb_nodes=2");
  EXPECT_EQ(decision.workload_file, "plt#.h5");
  EXPECT_FALSE(decision.by_name);
}

TEST_F(Outputs, WhatAnOlderVersionMaskedIsFound) {
  Observation observation = vpic_run(5, "old");
  observation.files.front().path = "/scratch/given by hand";
  observation.files.front().workload.file = "out#.h#";
  must(db_.add_observation(observation, "old"));
  answer(vpic(), "cb_nodes=2");
  EXPECT_EQ(asked("out7.h5").settings.text(), "cb_nodes=2");
  run({{"out8.h5", vpic()}});
  EXPECT_EQ(asked("out7.h5").workload_file, "out#.h5");
  EXPECT_EQ(asked("out7.h5").settings.text(), "cb_nodes=2");
}

TEST(RunAnswers, AnAnswerByNameIsForThatNameAlone) {
  iotune_question question = {};
  question.file = "/a/o_h0.h5";
  RunAnswers answers;
  answers.keep(question, {}, {Result<Decision>(Decision{}), "h0"}, true);
  ASSERT_NE(answers.find(question, {}), nullptr);
  question.file = "/a/o_h1.h5";
  EXPECT_EQ(answers.find(question, {}), nullptr);
}

TEST(DriftInRun, AnotherOutputOfTheRunIsNotConcerned) {
  Question one = vpic_question(), other = vpic_question();
  one.file = "/a/o_h0.h5";
  other.file = "/a/o_h1.h5";
  Decision of_one, of_other;
  of_one.settings = of_other.settings = must(Settings::parse("cb_nodes=2"));
  of_one.workload_file = "o_h0.h5";
  of_other.workload_file = "o_h1.h5";
  of_one.known = {{1e6, 1, false, false}};
  DriftTable table;
  table.follow(one, of_one);
  table.closed(one.file, 1 << 30, true);
  EXPECT_NE(table.reason(one, of_one), "");
  EXPECT_EQ(table.reason(other, of_other), "");
}

}  // namespace
}  // namespace iotune::patterndb::testing
