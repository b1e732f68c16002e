// Answers that production runs take back, and those that they must not.
#include <cmath>
#include <functional>
#include <random>

#include "patterndb/decide/default_test.h"
#include "patterndb/decide/exploration.h"
#include "patterndb/exchange/record_json.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

// One run in tests of the arithmetic alone.
struct Storage {
  double gain;        // of the settings over the default
  double spread;      // of the logarithm
  double tail_share;  // of runs that a neighbour slows down, without bound
};

class Runs {
 public:
  explicit Runs(unsigned seed) : random_(seed) {}

  bool at_default(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }
  double bandwidth(const Storage& storage, bool at_default) {
    double log = std::normal_distribution<>(0, storage.spread)(random_);
    if (!at_default) log += std::log(storage.gain);
    double u = std::uniform_real_distribution<>(0, 1)(random_);
    // Cauchy-like: no mean, no variance.
    if (u < storage.tail_share) log -= storage.tail_share / u;
    return std::exp(log) * 1e8;
  }

 private:
  std::mt19937_64 random_;
};

std::size_t runs_until_rejected(const Storage& storage, double share, unsigned seed,
                                std::size_t most) {
  Runs runs(seed);
  DefaultTest test;
  std::vector<double> tuned, at_default;
  auto last = [](const std::vector<double>& all, std::size_t n) {
    return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(std::min(n, all.size())),
                               all.end());
  };
  for (std::size_t run = 1; run <= most; ++run) {
    bool explores = runs.at_default(share);
    double bandwidth = runs.bandwidth(storage, explores);
    add_run(test, bandwidth, explores, share, {last(tuned, 16), last(at_default, 8)});
    if (test.rejects()) return run;
    (explores ? at_default : tuned).push_back(bandwidth);
  }
  return most;
}

TEST(DefaultTest, SettingsThatLoseAreFoundOut) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    EXPECT_LT(runs_until_rejected({0.25, 0.3, 0.05}, kDefaultShare, seed, 1000), 150u) << seed;
  }
}

TEST(DefaultTest, SettingsThatDoNoHarmAreKeptForKRevertAtRunsAndMore) {
  // The promise is the mean time to a false alarm: at least kRevertAt.
  for (Storage storage : {Storage{1.0, 0.3, 0.05}, Storage{1.0, 1.5, 0.3}}) {
    double sum = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      sum += static_cast<double>(runs_until_rejected(storage, kDefaultShare, seed, 2000));
    }
    EXPECT_GT(sum / 100, kRevertAt);
  }
  int alarms = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    alarms += runs_until_rejected({1.5, 0.3, 0.05}, kDefaultShare, seed, 500) < 500;
  }
  EXPECT_LE(alarms, 1);
}

TEST(DefaultTest, DriftingStorageIsNoEvidence) {
  // Storage that gets slower and slower for both arms.
  double sum = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Runs runs(seed);
    DefaultTest test;
    EarlierRuns earlier;
    std::size_t run = 0;
    for (; run < 1000 && !test.rejects(); ++run) {
      bool explores = runs.at_default(kDefaultShare);
      double bandwidth = runs.bandwidth({1, 0.2, 0.05}, explores) * std::exp(-0.02 * double(run));
      add_run(test, bandwidth, explores, kDefaultShare, earlier);
      (explores ? earlier.at_default : earlier.tuned).push_back(bandwidth);
    }
    sum += static_cast<double>(run);
  }
  EXPECT_GT(sum / 100, kRevertAt);
}

TEST(DefaultTest, WithoutADrawThereIsNoEvidence) {
  DefaultTest test;
  for (int i = 0; i < 100; ++i) {
    add_run(test, i, true, 1, {{1, 2, 3}, {}});
    add_run(test, 0, false, 0, {{1, 2, 3}, {4, 5}});
  }
  EXPECT_EQ(test.value(), 1);
}

TEST(Exploration, DrawsAreOfTheRunAndUniform) {
  Workload workload{"vpic-io", "vpic#.h5", 4, 1};
  EXPECT_EQ(draw("run 1", workload, "key"), draw("run 1", workload, "key"));
  int low = 0;
  for (int i = 0; i < 8000; ++i) {
    low += draw("run " + std::to_string(i), workload, "key") < kDefaultShare;
  }
  EXPECT_NEAR(low, 1000, 150);
}

class Learning : public Folder {
 protected:
  void run(
      double seconds, const char* source, std::int64_t row, const char* effective,
      const std::function<void(ObservedFile&)>& change = [](ObservedFile&) {}) {
    ++now_;
    Observation observation = vpic_run(now_, "run-" + std::to_string(now_));
    ObservedFile& file = observation.files[0];
    file.decision_source = source;
    file.decision_row = row;
    file.settings = must(Settings::parse(effective));
    file.seconds = seconds;
    change(file);
    must(db_.add_observation(observation, "spool-" + std::to_string(now_)));
  }
  TuningRow newest() {
    return must(db_.newest_tuning(byte_key(vpic()), local_platform())).value_or(TuningRow());
  }
  // Every fourth run at the default; returns how many runs until the answer moved.
  int runs_until_it_moves(double tuned_seconds, double default_seconds, int most) {
    std::int64_t row = newest().id;
    std::mt19937 random(7);
    std::normal_distribution<> noise(0, 0.1);
    for (int i = 0; i < most; ++i) {
      bool explores = std::uniform_real_distribution<>(0, 1)(random) < kDefaultShare;
      double seconds = (explores ? default_seconds : tuned_seconds) * std::exp(noise(random));
      run(seconds, explores ? "explore" : "exact", row, explores ? "" : "cb_nodes=2");
      if (newest().id != row) return i + 1;
    }
    return most;
  }

  PatternDb db_ = create(at("patterns.db"));
  double now_ = 1000;
};

TEST_F(Learning, ASettingThatBecameBadIsRevertedWithItsEvidence) {
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  EXPECT_EQ(runs_until_it_moves(1.0, 2.0, 200), 200) << "a good setting was taken back";
  int runs = runs_until_it_moves(6.0, 2.0, 200);
  EXPECT_LT(runs, 120);
  TuningRow row = newest();
  EXPECT_EQ(row.state, State::kReverted);
  EXPECT_EQ(row.settings, "cb_nodes=2");
  ASSERT_TRUE(row.gain);
  EXPECT_LT(*row.gain, 0.6);
  EXPECT_NE(row.evidence.find("at the default; evidence "), std::string::npos) << row.evidence;
  // What is trained anew starts anew.
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=4", 5000)));
  EXPECT_EQ(newest().state, State::kTuned);
}

TEST_F(Learning, RunsThatWereNotDrawnAreNoEvidence) {
  std::int64_t row = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  for (int i = 0; i < 9; ++i) run(9, "exact", row, "cb_nodes=2");
  for (int i = 0; i < 30; ++i) {
    run(1, "off", -1, "");      // by the user's choice
    run(1, "explore", 77, "");  // of no answer that is known
    run(1, "config", row, "");
  }
  EXPECT_EQ(newest().state, State::kTuned);
}

TEST_F(Learning, NothingIsLearntFromAnotherPlatformNorFromWhatHasNoRate) {
  const std::int64_t row = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  const std::function<void(ObservedFile&)> useless[] = {
      [](ObservedFile& file) { file.platform.filesystem = "lustre"; },
      [](ObservedFile& file) { file.platform.mpi = "MPICH 5.0.0"; },
      [](ObservedFile& file) { file.platform.hdf5 = "1.14.6"; },
      [](ObservedFile& file) { file.bytes_written = file.bytes_read = 0; },
      [](ObservedFile& file) { file.seconds = 0; },
  };
  for (const auto& change : useless) {
    for (int i = 0; i < 40; ++i) {
      const bool explores = i % 4 == 0;
      run(explores ? 1 : 9, explores ? "explore" : "exact", row, explores ? "" : "cb_nodes=2",
          change);
    }
  }
  EXPECT_EQ(Json::parse(must(db_.history(1)))["trials"].size(), 0u);
  EXPECT_EQ(newest().state, State::kTuned);
  // The same runs where they belong are evidence.
  for (int i = 0; i < 200 && newest().id == row; ++i) {
    const bool explores = i % 4 == 0;
    run(explores ? 1 : 9, explores ? "explore" : "exact", row, explores ? "" : "cb_nodes=2");
  }
  EXPECT_EQ(newest().state, State::kReverted);
}

TEST_F(Learning, OneGiantOutlierTakesNothingBack) {
  const std::int64_t row = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  for (int i = 0; i < 40; ++i) {
    const bool explores = i % 8 == 0;
    const double seconds = i == 20 ? 1e6 : i == 24 ? 1e-6 : 2;
    run(seconds, explores ? "explore" : "exact", row, explores ? "" : "cb_nodes=2");
  }
  EXPECT_EQ(newest().state, State::kTuned);
}

TEST_F(Learning, RunsThatShowAnotherPatternAreNoEvidence) {
  must(db_.add_tuning(tuned(one_dimensional(5, 4), "cb_nodes=2")));
  std::int64_t row = 1;
  for (int i = 0; i < 40; ++i) run(9, "exact", row, "cb_nodes=2");
  Json exported = Json::parse(must(db_.export_json()));
  EXPECT_EQ(exported["tunings"].size(), 1u);
}

TEST_F(Learning, ASimilarPatternsSettingsAreRevertedForThisPatternAlone) {
  std::int64_t row = must(db_.add_tuning(tuned(one_dimensional(5, 4), "cb_nodes=2")));
  std::mt19937 random(7);
  for (int i = 0; i < 150 && newest().id < 0; ++i) {
    bool explores = std::uniform_real_distribution<>(0, 1)(random) < kDefaultShare;
    run(explores ? 1 : 9, explores ? "explore" : "similar", row, explores ? "" : "cb_nodes=2");
  }
  EXPECT_EQ(newest().state, State::kReverted);
  TuningRow other = must(db_.newest_tuning(byte_key(one_dimensional(5, 4)), local_platform()))
                        .value_or(TuningRow());
  EXPECT_EQ(other.state, State::kTuned);
}

// A site's answer may come with a clock that was ahead.
TEST_F(Learning, WhatIsMeasuredNowHoldsWhateverClocksSay) {
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=2", 4e9)));
  must(db_.add_tuning(tuned(vpic(), "cb_nodes=4", 5000)));
  EXPECT_EQ(newest().settings, "cb_nodes=4");
}

TEST_F(Learning, SettingsThatNeverTakeEffectAreRefused) {
  std::int64_t row = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  run(1, "exact", row, "");
  run(1, "explore", row, "");
  run(1, "exact", row, "");
  EXPECT_EQ(newest().state, State::kTuned);
  run(1, "exact", row, "");
  EXPECT_EQ(newest().state, State::kRefused);
  EXPECT_NE(newest().evidence.find("in 3 runs"), std::string::npos);
}

TEST_F(Learning, OneThatTookEffectOnceIsNotRefused) {
  std::int64_t row = must(db_.add_tuning(tuned(vpic(), "cb_nodes=2")));
  run(1, "exact", row, "cb_nodes=2");
  for (int i = 0; i < 9; ++i) run(1, "exact", row, "");
  EXPECT_EQ(newest().state, State::kTuned);
}

}  // namespace
}  // namespace iotune::patterndb::testing
