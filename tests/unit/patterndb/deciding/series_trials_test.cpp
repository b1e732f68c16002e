#include "patterndb/decide/series_trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "patterndb/settings/parameters.h"

namespace iotune::patterndb {
namespace {

// A run that writes plt00000.h5 and on; `rate` is what a file with these settings reaches.
class Job {
 public:
  explicit Job(std::function<double(const std::string&)> rate, bool collective = true,
               std::uint32_t ranks = 4, std::uint32_t nodes = 1)
      : rate_(std::move(rate)), collective_(collective), ranks_(ranks), nodes_(nodes) {}

  std::optional<Decision> open() {
    Question question;
    question.layer = "hdf5";
    question.ranks = ranks_;
    question.nodes = nodes_;
    char name[64];
    snprintf(name, sizeof name, "/scratch/run/plt%05d.h5", number_);
    question.file = file_ = name;
    ++number_;
    return trials.next(question, hopeful);
  }
  void close(const std::optional<Decision>& decision) {
    const std::string settings = decision ? decision->settings.text() : "";
    trials.closed(file_, 1e9 / rate_(settings), 1000000000, collective_);
  }
  std::optional<Decision> file() {
    std::optional<Decision> decision = open();
    close(decision);
    return decision;
  }
  SeriesTrials trials;
  Settings hopeful;

 private:
  std::function<double(const std::string&)> rate_;
  bool collective_;
  std::uint32_t ranks_, nodes_;
  int number_ = 0;
  std::string file_;
};

TEST(SeriesTrials, TheFirstTwoFilesAreTheBaselineThenCandidatesAndDefaultTakeTurns) {
  Job run([](const std::string&) { return 100.0; });
  EXPECT_FALSE(run.file().has_value());
  std::vector<std::string> tried;
  for (int i = 1; i <= 7; ++i) {
    const std::optional<Decision> decision = run.file();
    ASSERT_TRUE(decision.has_value());
    EXPECT_EQ(decision->source, IOTUNE_SOURCE_SERIES);
    EXPECT_EQ(decision->settings.empty(), i % 2 == 1) << i;
    if (i % 2 == 0) tried.push_back(decision->settings.text());
  }
  EXPECT_EQ(tried, trial_candidates(true, 4, 1));
}

TEST(SeriesTrials, WhatAModelExpectsMostOfIsTriedFirstAndOnce) {
  const auto tried_with = [](const std::string& hopeful) {
    Job run([](const std::string&) { return 100.0; });
    run.hopeful = *Settings::parse(hopeful);
    std::vector<std::string> tried;
    for (int i = 0; i < 8; ++i) {
      const std::optional<Decision> decision = run.file();
      if (decision && !decision->settings.empty()) tried.push_back(decision->settings.text());
    }
    return tried;
  };
  const std::vector<std::string> usual = trial_candidates(true, 4, 1);
  EXPECT_EQ(tried_with(usual[1]), (std::vector{usual[1], usual[0], usual[2]}));
  const std::string other = "cb_buffer_size=4194304";
  EXPECT_EQ(tried_with(other), (std::vector{other, usual[0], usual[1]}));
}

TEST(SeriesTrials, TheCandidatesHaveTwoAggregatorsANode) {
  const auto aggregators = [](std::uint32_t ranks, std::uint32_t nodes) {
    for (const std::string& text : trial_candidates(true, ranks, nodes)) {
      if (text.find("cb_nodes") != std::string::npos) return text;
    }
    return std::string();
  };
  EXPECT_EQ(aggregators(4, 1), "cb_config_list=*:2;cb_nodes=2");
  EXPECT_EQ(aggregators(64, 4), "cb_config_list=*:2;cb_nodes=8");
  EXPECT_EQ(aggregators(6, 4), "cb_config_list=*:2;cb_nodes=6");
  // Each rank has a node of its own: that is the default.
  EXPECT_EQ(aggregators(4, 4), "");
  EXPECT_EQ(aggregators(3, 4), "");  // a part of the run's ranks

  Job run([](const std::string&) { return 100.0; }, true, 64, 4);
  std::vector<std::string> tried;
  for (int i = 0; i < 8; ++i) {
    const std::optional<Decision> decision = run.file();
    if (decision && !decision->settings.empty()) tried.push_back(decision->settings.text());
  }
  EXPECT_EQ(tried, trial_candidates(true, 64, 4));
}

TEST(SeriesTrials, OnlyWhatIsKnownToBeRightIsTried) {
  int asked = 0;
  const auto run_with = [&](const std::string& part) {
    Job run([](const std::string&) { return 100.0; });
    run.trials = SeriesTrials([&, part](const Settings& settings, const Question& question) {
      ++asked;
      EXPECT_EQ(question.ranks, 4u);
      return settings.text().find(part) != std::string::npos;
    });
    std::vector<std::string> tried;
    for (int i = 0; i < 9; ++i) {
      const std::optional<Decision> decision = run.file();
      if (decision && !decision->settings.empty()) tried.push_back(decision->settings.text());
      if (i == 1) {
        EXPECT_EQ(asked, 0);  // before there is anything to be tried
      }
    }
    return std::pair(tried, run.file()->message);
  };
  const auto [one, message] = run_with("cb_nodes");
  EXPECT_GE(one.size(), 2u);
  for (const std::string& text : one) EXPECT_EQ(text, "cb_config_list=*:2;cb_nodes=2");
  EXPECT_EQ(asked, 3);  // once each
  asked = 0;
  const auto [none, why] = run_with("no such setting");
  EXPECT_TRUE(none.empty());
  EXPECT_NE(why.find("known to be right"), std::string::npos);
}

// One name again and again, names that go down, and a pair at a time.
TEST(SeriesTrials, NamesThatDoNotCountUpAreNoSeries) {
  const auto files = [](const std::vector<std::string>& names) {
    SeriesTrials trials;
    int tried = 0;
    for (const std::string& name : names) {
      Question question;
      question.layer = "hdf5";
      question.ranks = 4;
      question.file = "/scratch/run7/" + name;
      const std::optional<Decision> decision = trials.next(question);
      if (decision && !decision->settings.empty()) ++tried;
      trials.closed(question.file, 1, 1000000, true);
    }
    return tried;
  };
  EXPECT_EQ(files({"plt0.h5", "plt1.h5"}), 0);
  EXPECT_EQ(files({"plt0.h5", "plt1.h5", "plt2.h5"}), 1);
  EXPECT_EQ(files({"plt8.h5", "plt9.h5", "plt10.h5", "plt0011.h5"}), 1);
  EXPECT_EQ(files({"plt3.h5", "plt2.h5", "plt1.h5", "plt0.h5"}), 0);
  EXPECT_EQ(files(std::vector<std::string>(9, "restart.h5")), 0);
  EXPECT_EQ(files({"a0.h5", "a1.h5", "a0.h5", "a1.h5", "a0.h5", "a1.h5"}), 0);
  // A folder a time step, with the number in the file's name as well or not.
  EXPECT_EQ(files({"T.0/fields_0.h5", "T.100/fields_100.h5", "T.200/fields_200.h5"}), 1);
  EXPECT_EQ(files({"plt00000/data.h5", "plt00001/data.h5", "plt00002/data.h5"}), 1);
  EXPECT_EQ(files({"T.2/a.h5", "T.1/a.h5", "T.0/a.h5"}), 0);
  // Folders that take turns have a series each: other sizes, perhaps.
  EXPECT_EQ(files({"L0/p0.h5", "L1/p0.h5", "L0/p1.h5", "L1/p1.h5", "L0/p2.h5", "L1/p2.h5",
                   "L0/p3.h5", "L1/p3.h5"}),
            2);
  EXPECT_EQ(files({"L0/p0.h5", "L0/p1.h5", "L0/p2.h5", "L1/p0.h5", "L1/p1.h5", "L1/p2.h5"}), 2);
  // A restart in the midst begins anew.
  EXPECT_EQ(files({"plt0.h5", "plt1.h5", "plt0.h5", "plt1.h5"}), 0);
  EXPECT_EQ(files({"plt0.h5", "plt1.h5", "plt0.h5", "plt1.h5", "plt2.h5"}), 1);
  // Many others, none of them a series, take no series its place.
  std::vector<std::string> names;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'e'; ++b) names.push_back(std::string{a, b} + ".h5");
  }
  for (const char* name : {"plt0.h5", "plt1.h5", "plt2.h5"}) names.emplace_back(name);
  EXPECT_EQ(files(names), 1);
}

// Two files a step, whose names differ in a number: one gains by what the other loses by.
TEST(SeriesTrials, KindsThatANumberTellsApartAreSeriesOfTheirOwn) {
  for (const char* form : {"/scratch/out_h%d_%04d.h5", "/scratch/out_%2$04d_h%1$d.h5"}) {
    SeriesTrials trials;
    std::string last[2];
    int tried_early = 0;
    for (int step = 0; step < 60; ++step) {
      for (int kind = 0; kind < 2; ++kind) {
        char name[64];
        snprintf(name, sizeof name, form, kind, step);
        Question question;
        question.layer = "hdf5";
        question.ranks = 4;
        question.file = name;
        const std::optional<Decision> decision = trials.next(question);
        const std::string settings = decision ? decision->settings.text() : "";
        if (step < 2 && !settings.empty()) ++tried_early;
        const bool disabled = settings == "romio_cb_write=disable";
        const double seconds = kind == 0 ? (disabled ? 1 : 3) : (disabled ? 0.4 : 0.1);
        trials.closed(question.file, seconds, kind == 0 ? 80'000'000 : 2'000'000, true);
        if (decision && step > 50 && decision->state == State::kTuned) {
          last[kind] =
              decision->message.find("decided for") == std::string::npos ? last[kind] : settings;
        }
      }
    }
    EXPECT_EQ(tried_early, 0) << form;
    EXPECT_EQ(last[0], "romio_cb_write=disable") << form;
    EXPECT_EQ(last[1], "") << form;
  }
}

// Nothing follows from a file about one of another size, whatever their names.
TEST(SeriesTrials, FilesOfOtherSizesAreNotCompared) {
  SeriesTrials trials;
  for (int step = 0; step < 40; ++step) {
    Question question;
    question.layer = "hdf5";
    question.ranks = 4;
    question.file = "/scratch/plt" + std::to_string(step) + ".h5";
    const std::optional<Decision> decision = trials.next(question);
    EXPECT_TRUE(!decision || decision->settings.empty()) << step;
    trials.closed(question.file, step % 2 == 0 ? 1 : 0.1, step % 2 == 0 ? 80'000'000 : 2'000'000,
                  true);
  }
}

TEST(SeriesTrials, WhatIsFasterIsFoundAndKept) {
  Job run([](const std::string& settings) {
    if (settings == "romio_cb_write=disable") return 300.0;
    return settings.empty() ? 100.0 : 60.0;
  });
  std::optional<Decision> last;
  int files = 0;
  do {
    last = run.file();
    ASSERT_LT(++files, 40);
  } while (!last || last->state != State::kTuned);
  EXPECT_EQ(last->settings.text(), "romio_cb_write=disable");
  int defaults = 0;
  for (int i = 0; i < 32; ++i) {
    last = run.file();
    ASSERT_EQ(last->state, State::kTuned);
    if (last->settings.empty()) ++defaults;
  }
  EXPECT_EQ(defaults, 4);
}

TEST(SeriesTrials, WithoutAGainTheDefaultStays) {
  Job run([](const std::string& settings) { return settings.empty() ? 100.0 : 50.0; });
  std::optional<Decision> last;
  for (int i = 0; i < 20; ++i) last = run.file();
  EXPECT_EQ(last->state, State::kDefaultIsBest);
  EXPECT_TRUE(last->settings.empty());
}

TEST(SeriesTrials, AWinnerThatBecomesWorseIsTakenBack) {
  bool turned = false;
  Job run([&](const std::string& settings) {
    return settings == "romio_cb_write=disable" ? (turned ? 20.0 : 300.0) : 100.0;
  });
  std::optional<Decision> last;
  do last = run.file();
  while (!last || last->state != State::kTuned);
  turned = true;
  for (int i = 0; i < 32; ++i) last = run.file();
  EXPECT_EQ(last->state, State::kDefaultIsBest);
  EXPECT_TRUE(last->settings.empty());
}

// Of series in which nothing is to be gained, with times of a heavy tail, few may end with
// settings.
TEST(SeriesTrials, HeavyTailsSeldomDeceive) {
  std::mt19937 draw(20151116);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int deceived = 0;
  constexpr int kRuns = 400;
  for (int i = 0; i < kRuns; ++i) {
    // Pareto, index 1.5: no variance.
    Job run([&](const std::string&) { return 100 * std::pow(1 - uniform(draw), 1 / 1.5); });
    std::optional<Decision> last;
    for (int file = 0; file < 60; ++file) last = run.file();
    if (last->state == State::kTuned) ++deceived;
  }
  EXPECT_LE(deceived, kRuns * 5 / 100) << deceived << " of " << kRuns;
}

TEST(SeriesTrials, HeavyTailsDoNotHideATwofoldGain) {
  std::mt19937 draw(20151116);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int found = 0;
  constexpr int kRuns = 200;
  for (int i = 0; i < kRuns; ++i) {
    Job run([&](const std::string& settings) {
      const double base = settings == "romio_cb_write=disable" ? 300 : 100;
      return base * std::pow(1 - uniform(draw), 1 / 3.0);
    });
    std::optional<Decision> last;
    for (int file = 0; file < 120; ++file) last = run.file();
    if (last->state == State::kTuned) ++found;
  }
  EXPECT_GE(found, kRuns * 85 / 100) << found << " of " << kRuns;
}

TEST(SeriesTrials, NothingIsChangedWhereItCannotBeCompared) {
  const auto even = [](const std::string&) { return 100.0; };
  Job overlapping(even);
  overlapping.file();
  EXPECT_TRUE(overlapping.open().has_value());
  EXPECT_FALSE(overlapping.open().has_value()) << "the one before is still open";
  Job alone(even, false, 1);
  alone.file();
  EXPECT_FALSE(alone.file().has_value());
  SeriesTrials trials;
  Question question;
  question.layer = "hdf5";
  question.ranks = 4;
  question.file = "/scratch/restart.h5";  // "5" is of the ending: masked, and no series by itself
  question.creating = false;
  EXPECT_FALSE(trials.next(question).has_value()) << "files that are read";
  question.creating = true;
  question.layer = "mpiio";
  EXPECT_FALSE(trials.next(question).has_value());
}

TEST(SeriesTrials, CandidatesChangeNothingOnDisk) {
  for (const bool collective : {false, true}) {
    for (const std::string& text : trial_candidates(collective, 8, 1)) {
      Result<Settings> settings = Settings::parse(text);
      ASSERT_TRUE(settings) << text;
      for (const auto& [name, value] : settings->values()) {
        EXPECT_EQ(find_parameter(name.c_str())->disk, DiskEffect::kNone) << name;
      }
    }
  }
}

}  // namespace
}  // namespace iotune::patterndb
