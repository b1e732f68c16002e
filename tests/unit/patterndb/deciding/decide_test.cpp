#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patterndb/decide/decision_writer.h"
#include "patterndb/exchange/config_xml.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Decide : public Folder {
 protected:
  Places places() const { return {at("patterns.db"), at("spool"), config_, drawn_}; }
  void fold() const { fold_spool(at("patterns.db"), at("spool")); }
  Decision ask(bool creating = true) {
    fold();
    return must(decide(vpic_question(creating), places()));
  }
  std::string refusal() {
    fold();
    Result<Decision> decision = decide(vpic_question(), places());
    return decision ? "" : decision.error().text();
  }
  void observe_once(double at = 50) { must(leave_in_spool(vpic_run(at), this->at("spool"))); }
  void tell(const Tuning& tuning) { must(create(at("patterns.db")).add_tuning(tuning)); }
  // A run that had the answer of row 1.
  void answered_once() {
    Observation run = vpic_run(150, "run-answered");
    run.files[0].decision_source = "exact";
    run.files[0].decision_row = 1;
    must(leave_in_spool(run, at("spool")));
    fold();
  }
  std::string config_;
  double drawn_ = 0.99;
};

TEST_F(Decide, WithoutADatabaseThereIsNoDecision) {
  EXPECT_EQ(refusal(), at("patterns.db") + ": no pattern database there");
  EXPECT_FALSE(exists(at("patterns.db")));
}

TEST_F(Decide, TheWholeLoop) {
  observe_once();
  Decision first = ask();
  EXPECT_EQ(first.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_EQ(first.row, -1);
  EXPECT_EQ(first.pattern, "<1D,(BLOCK),(8388608)>");
  EXPECT_EQ(entries(at("spool")), 0u);
  tell(tuned(vpic(), "cb_nodes=2;romio_cb_write=disable"));
  Decision second = ask();
  EXPECT_EQ(second.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(second.state, State::kTuned);
  EXPECT_EQ(second.row, 1);
  EXPECT_EQ(second.settings.text(), "cb_nodes=2;romio_cb_write=disable");
  EXPECT_EQ(packed_lines(second),
            "source exact\nstate tuned\nrow 1\nthousandths 0\n"
            "pattern <1D,(BLOCK),(8388608)>\n"
            "message trained for vpic-io vpic#.h5, gain 1.5 [1.4, 1.6] in 5 rounds\n"
            "set cb_nodes 2\nset romio_cb_write disable\nsieves\n");
}

TEST_F(Decide, APatternTrainedForAnotherProgramCountsWhereBytesAreEqual) {
  observe_once();
  tell(tuned(ior(), "cb_nodes=2"));
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(decision.settings.text(), "cb_nodes=2");
  EXPECT_NE(decision.message.find("equal in bytes to <1D,(BLOCK),(4194304)>"), std::string::npos);
}

// An answer holds for patterns of equal bytes, whose files have other numbers of datasets.
TEST_F(Decide, WhatIsReservedIsForAFileOfThisSize) {
  struct Case {
    std::uint64_t datasets;
    std::string reserved_bytes, settings, said;
  };
  constexpr const char* kWhole = "1073741824";  // vpic_run's: 8 times 128 MiB
  const Case cases[] = {
      {8, kWhole, "cb_nodes=2;fallocate=1073741824", ""},
      {8, "1181000000", "cb_nodes=2;fallocate=1181000000", ""},  // 1.1 of it
      {8, "1182000000", "cb_nodes=2", "datasets of this one had 1024 MiB"},
      {1, kWhole, "cb_nodes=2", "datasets of this one had 128 MiB"},
      {1, "134217728", "cb_nodes=2;fallocate=134217728", ""},
  };
  double at = 50;
  for (const Case& one : cases) {
    Observation run = vpic_run(at++);
    run.files[0].uses[0].datasets = one.datasets;
    must(leave_in_spool(run, this->at("spool")));
    tell(tuned(vpic(), "cb_nodes=2;fallocate=" + one.reserved_bytes, 100 + at));
    const Decision decision = ask();
    EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
    EXPECT_EQ(decision.settings.text(), one.settings) << decision.message;
    EXPECT_NE(decision.message.find(one.said), std::string::npos) << decision.message;
    EXPECT_EQ(decision.message.find("left out") == std::string::npos, one.said.empty());
  }
  // Filters change sizes.
  Observation packed = vpic_run(at++);
  packed.files[0].uses[0].pattern.filters = 1;
  must(leave_in_spool(packed, this->at("spool")));
  tell(tuned(packed.files[0].uses[0].pattern, std::string("fallocate=") + kWhole, 100 + at));
  const Decision unknown = ask();
  EXPECT_TRUE(unknown.settings.empty()) << unknown.settings.text();
  EXPECT_NE(unknown.message.find("is not known"), std::string::npos) << unknown.message;
}

TEST_F(Decide, UnknownWorkload) {
  tell(tuned(vpic(), "cb_nodes=2"));
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNKNOWN);
  EXPECT_TRUE(decision.settings.empty());
  observe_once();
  fold();
  Question question = vpic_question();
  question.ranks = 8;
  EXPECT_EQ(must(decide(question, places())).source, IOTUNE_SOURCE_UNKNOWN);
  question = vpic_question();
  question.file = "/data/other.h5";
  EXPECT_EQ(must(decide(question, places())).source, IOTUNE_SOURCE_UNKNOWN);
}

TEST_F(Decide, AnotherPlatformIsUntrained) {
  observe_once();
  fold();
  tell(tuned(vpic(), "cb_nodes=2"));
  for (auto change :
       {+[](Question& q) { q.filesystem = "lustre"; }, +[](Question& q) { q.mpi = "MPICH 4.1"; },
        +[](Question& q) { q.hdf5 = "1.14.0"; }}) {
    Question question = vpic_question();
    change(question);
    EXPECT_EQ(must(decide(question, places())).source, IOTUNE_SOURCE_UNTRAINED);
  }
  Question question = vpic_question();
  question.filesystem = "ext3";  // another spelling
  question.hdf5 = "";            // unknown
  EXPECT_EQ(must(decide(question, places())).source, IOTUNE_SOURCE_EXACT);
}

TEST_F(Decide, OnlyTunedSetsAnything) {
  observe_once();
  double when = 100;
  for (State state : {State::kDefaultIsBest, State::kReverted, State::kRefused}) {
    Tuning tuning = tuned(vpic(), "cb_nodes=2", ++when);
    tuning.state = state;
    tell(tuning);
    Decision decision = ask();
    EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
    EXPECT_EQ(decision.state, state);
    EXPECT_TRUE(decision.settings.empty());
  }
  Tuning again = tuned(vpic(), "", ++when);
  again.state = State::kUntrained;
  tell(again);
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);
}

TEST_F(Decide, ReadsSpeakWhereAnOldFileIsOpened) {
  Observation run = vpic_run();
  PatternUse reading = run.files[0].uses[0];
  reading.pattern = one_dimensional(777, 4);
  reading.pattern.write = false;
  run.files[0].uses.push_back(reading);
  must(leave_in_spool(run, at("spool")));
  EXPECT_EQ(ask(true).pattern, "<1D,(BLOCK),(8388608)>");
  EXPECT_EQ(ask(false).pattern, "<1D,(BLOCK),(777)>");
}

TEST_F(Decide, WritesSpeakWhereNoReadsAreKnown) {
  observe_once();
  EXPECT_EQ(ask(false).pattern, "<1D,(BLOCK),(8388608)>");
}

TEST_F(Decide, TheNewestSpeakerHolds) {
  observe_once(50);
  Observation later = vpic_run(60);
  later.files[0].uses[0].pattern = one_dimensional(1000, 4);
  must(leave_in_spool(later, at("spool")));
  EXPECT_EQ(ask().pattern, "<1D,(BLOCK),(1000)>");
}

TEST_F(Decide, AShareOfTheRunsStaysAtTheDefault) {
  observe_once();
  tell(tuned(vpic(), "cb_nodes=2"));
  drawn_ = 0;
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_EXACT);  // the first run has what was measured
  answered_once();
  drawn_ = 0.1249;
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXPLORE);
  EXPECT_EQ(decision.state, State::kTuned);
  EXPECT_EQ(decision.row, 1);
  EXPECT_TRUE(decision.settings.empty());
  EXPECT_NE(decision.message.find("1 in 8"), std::string::npos) << decision.message;
  drawn_ = 0.125;
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_EXACT);
}

TEST_F(Decide, WhereTheSiteFreezesWhatIsTrustedIsAppliedInEachRun) {
  observe_once();
  tell(tuned(vpic(), "cb_nodes=2"));
  answered_once();
  drawn_ = 0;
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_EXPLORE);
  Question frozen = vpic_question();
  frozen.frozen = true;
  const Decision decision = must(decide(frozen, places()));
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(decision.settings.text(), "cb_nodes=2");
}

TEST_F(Decide, AChangedWorkloadIsNotTrustedUntilItFitsAgain) {
  observe_once(50);
  tell(tuned(vpic(), "cb_nodes=2"));
  tell(tuned(one_dimensional(1000, 4), "cb_nodes=3", 10));
  EXPECT_EQ(ask().settings.text(), "cb_nodes=2");
  Observation other = vpic_run(160, "other");
  other.files[0].uses[0].pattern = one_dimensional(1000, 4);
  must(leave_in_spool(other, at("spool")));
  Decision drifted = ask();
  EXPECT_EQ(drifted.source, IOTUNE_SOURCE_DRIFT);
  EXPECT_TRUE(drifted.settings.empty());
  EXPECT_EQ(drifted.pattern, "<1D,(BLOCK),(1000)>");
  other = vpic_run(170, "again");
  other.files[0].uses[0].pattern = one_dimensional(1000, 4);
  must(leave_in_spool(other, at("spool")));
  EXPECT_EQ(ask().settings.text(), "cb_nodes=3");
  // Back again, and trained for what it shows now: that is trusted at once.
  observe_once(180);
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_DRIFT);
  tell(tuned(vpic(), "cb_nodes=4", 200));
  EXPECT_EQ(ask().settings.text(), "cb_nodes=4");
}

// For drift_in_run.h: what the workload's file was.
TEST_F(Decide, AnAnswerForANewFileTellsWhatTheFileWas) {
  observe_once(50);
  tell(tuned(vpic(), "cb_nodes=2"));
  const Decision decision = ask();
  ASSERT_FALSE(decision.settings.empty());
  const PatternUse use = vpic_run().files[0].uses[0];
  double bytes = static_cast<double>(use.pattern.element_bytes * use.datasets);
  for (std::uint64_t dimension : use.pattern.dataset_dims) bytes *= static_cast<double>(dimension);
  EXPECT_GT(bytes, 0);
  ASSERT_EQ(decision.known.size(), 1U);
  EXPECT_EQ(decision.known[0].bytes, bytes);
  EXPECT_EQ(decision.known[0].datasets, use.datasets);
  EXPECT_TRUE(decision.known[0].only_independent);
  EXPECT_FALSE(decision.known[0].only_collective);
}

// What may look larger or be transferred otherwise although nothing changed is not known.
TEST_F(Decide, AChunkedFileThatIsReadCollectivelyTellsNeitherSizeNorMode) {
  Observation run = vpic_run(50);
  const std::uint64_t dimension = run.files[0].uses[0].pattern.dataset_dims[0];
  run.files[0].uses[0].pattern.chunk = {dimension / 2 + 1};
  Tuning answer = tuned(run.files[0].uses[0].pattern, "cb_nodes=2");
  PatternUse read = run.files[0].uses[0];
  must(leave_in_spool(run, at("spool")));
  tell(answer);
  EXPECT_GT(ask().known.at(0).bytes, 0);
  EXPECT_TRUE(ask().known.at(0).only_independent);
  run = vpic_run(60, "second");
  run.files[0].uses[0].pattern.chunk = {dimension - 1};
  answer.pattern = run.files[0].uses[0].pattern;
  read.pattern.write = false;
  read.pattern.mode = "collective";
  run.files[0].uses.push_back(read);
  must(leave_in_spool(run, at("spool")));
  answer.made_at = 200;
  tell(answer);
  ASSERT_EQ(ask().source, IOTUNE_SOURCE_EXACT) << ask().message;
  EXPECT_EQ(ask().known.at(0).bytes, 0);
  EXPECT_FALSE(ask().known.at(0).only_independent);
}

TEST_F(Decide, RightAfterADriftNothingSimilarIsTaken) {
  observe_once(50);
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_UNTRAINED);  // folds the spool
  tell(tuned(one_dimensional(1000, 4), "cb_nodes=3", 10));
  Observation other = vpic_run(160, "other");
  other.files[0].uses[0].pattern = one_dimensional(1200, 4);
  must(leave_in_spool(other, at("spool")));
  Decision drifted = ask();
  EXPECT_EQ(drifted.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(drifted.settings.empty());
  EXPECT_NE(drifted.message.find("another pattern in its run before"), std::string::npos)
      << drifted.message;
  other = vpic_run(170, "again");
  other.files[0].uses[0].pattern = one_dimensional(1200, 4);
  must(leave_in_spool(other, at("spool")));
  Decision settled = ask();
  EXPECT_EQ(settled.source, IOTUNE_SOURCE_SIMILAR) << settled.message;
  EXPECT_EQ(settled.settings.text(), "cb_nodes=3");
}

TEST_F(Decide, ConfigWinsOverTheDatabase) {
  observe_once();
  tell(tuned(vpic(), "cb_nodes=2"));
  config_ = at("config.xml");
  write_file(config_, config_text({{"", must(Settings::parse("cb_nodes=7"))}}));
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_CONFIG);
  EXPECT_EQ(decision.settings.text(), "cb_nodes=7");
}

TEST_F(Decide, WhatTheConfigSaysNothingOfIsTheDatabases) {
  observe_once();
  tell(tuned(vpic(), "cb_nodes=2"));
  config_ = at("config.xml");
  for (const std::string& text :
       {std::string("<Parameters/>"),
        config_text({{"other.h5", must(Settings::parse("cb_nodes=7"))}})}) {
    write_file(config_, text);
    const Decision decision = ask();
    EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
    EXPECT_EQ(decision.settings.text(), "cb_nodes=2");
    EXPECT_NE(decision.message.find("no setting of " + config_ + " is for this file"),
              std::string::npos)
        << decision.message;
  }
  // A leaf for every file is one for this file, even one that is left out.
  write_file(config_,
             "<Parameters><Parallel_File_System><bgl_nodes_pset>64</bgl_nodes_pset>"
             "</Parallel_File_System></Parameters>");
  EXPECT_EQ(ask().source, IOTUNE_SOURCE_CONFIG);
  EXPECT_TRUE(ask().settings.empty());
  // Without a database, or where none is wanted, nothing is wrong.
  write_file(config_, "<Parameters/>");
  const auto without = [&](const std::string& database) {
    Places places = this->places();
    places.database = database;
    const Decision decision = must(decide(vpic_question(), places));
    EXPECT_TRUE(decision.settings.empty());
    return decision.source;
  };
  EXPECT_EQ(without("none"), IOTUNE_SOURCE_CONFIG);
  EXPECT_EQ(without(at("not-there.db")), IOTUNE_SOURCE_UNKNOWN);
}

TEST_F(Decide, ABrokenConfigDecidesNothing) {
  observe_once();
  config_ = at("config.xml");
  write_file(config_, "<Parameters>\n<x/></Parameters>");
  EXPECT_EQ(refusal().find(config_ + ":2: "), 0u);
  std::string leaves;
  for (int i = 0; i < 65; ++i) {
    leaves += "<chunk VariableName=\"v" + std::to_string(i) + "\">5</chunk>";
  }
  write_file(config_, "<Parameters><High_Level_IO_Library>" + leaves +
                          "</High_Level_IO_Library></Parameters>");
  EXPECT_EQ(refusal().find(config_ + ": 65 settings for "), 0u);
  config_ = at("missing.xml");
  EXPECT_EQ(refusal(), config_ + ": No such file or directory");
}

TEST_F(Decide, ALockedDatabaseLeavesTheSpoolAndStillAnswers) {
  observe_once();
  ask();
  tell(tuned(vpic(), "cb_nodes=2"));
  observe_once(60);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(at("patterns.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(entries(at("spool")), 1u);
  sqlite3_close(other);
  ask();
  EXPECT_EQ(entries(at("spool")), 0u);
}

TEST_F(Decide, ABadSpoolFileDoesNotStopIt) {
  observe_once();
  write_file(at("spool") + "/0.observation.json", "{");
  Decision decision = ask();
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_UNTRAINED);
  EXPECT_TRUE(exists(at("spool") + "/0.observation.json.bad"));
}

TEST_F(Decide, LayoutsFromADatabaseAreLeftOut) {
  observe_once();
  double at = 0;
  for (const std::string one : {"chunk=1024", "fill_time=never", "libver_low=v110"}) {
    tell(tuned(vpic(), "cb_nodes=2;" + one, at += 10));
    const Decision decision = ask();
    EXPECT_EQ(decision.settings.text(), "cb_nodes=2") << one;
    const std::string name = one.substr(0, one.find('='));
    EXPECT_NE(decision.message.find(name + " left out"), std::string::npos) << decision.message;
  }
}

TEST_F(Decide, SettingsOfANewerIotuneAreRefusedWhole) {
  observe_once();
  ask();
  tell(tuned(vpic(), "cb_nodes=2"));
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(at("patterns.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE settings SET text='cb_nodes=2;warp=9' WHERE text != ''",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  Decision decision = ask();
  EXPECT_EQ(decision.state, State::kRefused);
  EXPECT_TRUE(decision.settings.empty());
}

TEST_F(Decide, MessagesStayOnOneLine) {
  Decision decision;
  decision.message = "two\nlines\tset cb_nodes 9";
  EXPECT_NE(packed_lines(decision).find("\nmessage two lines set cb_nodes 9\n"), std::string::npos);
}

TEST_F(Decide, DistancesGoOutInThousandths) {
  const auto thousandths = [](std::optional<double> distance) {
    Decision decision;
    decision.distance = distance;
    const std::string lines = packed_lines(decision);
    const std::size_t at = lines.find("thousandths ");
    return at == std::string::npos ? -1 : std::stoi(lines.substr(at + 12));
  };
  EXPECT_EQ(thousandths(std::nullopt), -1);
  EXPECT_EQ(thousandths(0), 0);
  EXPECT_EQ(thousandths(0.29), 290);
  EXPECT_EQ(thousandths(1.5), 1500);
  EXPECT_EQ(thousandths(0.12349), 123);
  EXPECT_EQ(thousandths(0.00001), 0);
}

TEST_F(Decide, ADecisionWithoutASourceIsNotGivenOut) {
  Decision decision;
  decision.source = IOTUNE_SOURCE_NONE;
  EXPECT_THROW(packed(decision), Fault);
}

TEST_F(Decide, ADamagedDatabaseDecidesNothing) {
  write_file(at("patterns.db"), std::string(4096, 'z'));
  observe_once();
  EXPECT_NE(refusal().find("damaged"), std::string::npos);
  EXPECT_EQ(entries(at("spool")), 1u);
}

TEST_F(Decide, AReadOnlyHomeStillAnswers) {
  observe_once();
  tell(tuned(vpic(), "cb_nodes=2"));
  ask();
  observe_once(60);
  chmod(at("patterns.db").c_str(), 0444);
  chmod(at("spool").c_str(), 0555);
  chmod(folder().c_str(), 0555);
  std::string answer = as_ordinary_user(
      folder(), +[](const std::string& folder) {
        Result<Decision> decision =
            decide(vpic_question(), {folder + "/patterns.db", folder + "/spool", "", 0.99});
        return decision ? decision->settings.text() : decision.error().text();
      });
  EXPECT_EQ(answer, "cb_nodes=2");
  chmod(folder().c_str(), 0700);
  chmod(at("spool").c_str(), 0700);
}

}  // namespace
}  // namespace iotune::patterndb::testing
