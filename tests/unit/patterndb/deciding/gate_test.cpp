#include "patterndb/settings/gate.h"

#include <array>
#include <cstring>
#include <fstream>
#include <set>

#include "patterndb/decide/decision_writer.h"
#include "patterndb/settings/proofs.h"
#include "patterndb/store/places.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

constexpr char kOldOpenMpi[] = "Open MPI v4.1.4", kUnheardOf[] = "MPICH 97.1";

class Gate : public Folder {
 protected:
  Places places() const { return {at("patterns.db"), at("spool"), config_, 0.99, {at("site.db")}}; }

  Question question(const std::string& mpi, const std::string& mpi_io = "") const {
    Question asked = vpic_question(true);
    asked.mpi = mpi;
    asked.mpi_io = mpi_io;
    return asked;
  }

  Decision passed(const Question& asked, const std::string& settings, bool forced = false) const {
    Decision decision;
    decision.settings = must(Settings::parse(settings));
    decision.forced = forced;
    pass_gate(asked, places(), decision);
    return decision;
  }

  Proof proof_for(const Question& asked, const std::string& parameter,
                  const std::string& value_class, bool right = true) const {
    Proof proof;
    proof.filesystem = canonical_filesystem(asked.filesystem);
    proof.mpi = asked.mpi;
    proof.mpi_io = mpiio_library(asked.mpi, asked.mpi_io).name;
    proof.host_class = host_class();
    proof.parameter = parameter;
    proof.value_class = value_class;
    proof.passed = right;
    proof.seeds = 5;
    proof.ranks = 4;
    proof.nodes = 1;
    proof.made_at = 100;
    return proof;
  }

  std::string config_;
};

std::string reason_of(const Decision& decision, const std::string& name) {
  for (const RefusedSetting& one : decision.refused) {
    if (one.name == name) return one.reason;
  }
  return "";
}

TEST_F(Gate, BadOnesAreRefusedBesideHarmlessOnes) {
  const Decision decision =
      passed(question(kOldOpenMpi, kOmpio), "cb_nodes=2;chunk_cache=1048576;romio_cb_read=enable");
  EXPECT_EQ(decision.settings.text(), "chunk_cache=1048576;romio_cb_read=enable");
  EXPECT_NE(reason_of(decision, "cb_nodes").find("known bad with OMPIO 4.1.4"), std::string::npos);
  EXPECT_TRUE(passed(question(kOldOpenMpi, kOmpio), "cb_nodes=2", true).settings.empty());
  // Where it is not known which MPI-IO it is, either may be it.
  EXPECT_TRUE(passed(question(kOldOpenMpi), "cb_nodes=2", true).settings.empty());
}

TEST_F(Gate, UnknownOnesWaitForAProofOfTheVeryPlatform) {
  const Question here = question(kUnheardOf);
  EXPECT_NE(reason_of(passed(here, "cb_nodes=2"), "cb_nodes").find("iotune prove"),
            std::string::npos);
  EXPECT_FALSE(passed(here, "cb_nodes=2", true).settings.empty());
  PatternDb db = create(at("patterns.db"));
  for (const auto& change : std::array<void (*)(Proof&), 7>{
           [](Proof& p) { p.mpi = "MPICH 97.1.1"; }, [](Proof& p) { p.filesystem = "nfs"; },
           [](Proof& p) { p.mpi_io = kOmpio; }, [](Proof& p) { p.value_class = "1"; },
           [](Proof& p) { p.nodes = 2; }, [](Proof& p) { p.seeds = 4; },
           [](Proof& p) { p.host_class = "pdp11"; }}) {
    Proof other = proof_for(here, "cb_nodes", "more");
    other.made_at = 50;
    change(other);
    EXPECT_TRUE(must(db.add_proof(other)));
    EXPECT_TRUE(passed(here, "cb_nodes=2").settings.empty());
  }
  EXPECT_TRUE(must(db.add_proof(proof_for(here, "cb_nodes", "more"))));
  EXPECT_EQ(passed(here, "cb_nodes=2").settings.text(), "cb_nodes=2");
  Question several = here;
  several.nodes = 2;
  EXPECT_EQ(passed(several, "cb_nodes=2").settings.text(), "cb_nodes=2");  // the second change
  // The newest one counts, and wrong bytes are not forced.
  Proof failed = proof_for(here, "cb_nodes", "more", false);
  failed.made_at = 200;
  must(db.add_proof(failed));
  EXPECT_TRUE(passed(here, "cb_nodes=2", true).settings.empty());
}

TEST_F(Gate, ASitesProofsHoldWhereTheUserHasNone) {
  const Question here = question(kUnheardOf);
  must(create(at("site.db")).add_proof(proof_for(here, "cb_nodes", "more")));
  EXPECT_FALSE(passed(here, "cb_nodes=2").settings.empty());
  must(create(at("patterns.db")).add_proof(proof_for(here, "cb_nodes", "more", false)));
  EXPECT_TRUE(passed(here, "cb_nodes=2").settings.empty());
}

TEST_F(Gate, AMergeBringsProofsOfItsOwnPlatformsAlone) {
  const Question here = question(kUnheardOf), there = question("MPICH 97.2");
  {
    PatternDb other = create(at("other.db"));
    must(other.add_proof(proof_for(there, "cb_nodes", "more")));
  }
  PatternDb db = create(at("patterns.db"));
  must(db.merge(at("other.db"), {}));
  EXPECT_EQ(must(db.proofs()).size(), 1u);
  EXPECT_TRUE(passed(here, "cb_nodes=2").settings.empty());
  EXPECT_FALSE(passed(there, "cb_nodes=2").settings.empty());
  must(db.merge(at("other.db"), {}));
  EXPECT_EQ(must(db.proofs()).size(), 1u);
}

TEST_F(Gate, AFilterOfAMergeHoldsForProofsToo) {
  {
    PatternDb other = create(at("other.db"));
    must(other.add_proof(proof_for(question(kUnheardOf), "cb_nodes", "more")));
    must(other.add_proof(proof_for(question("MPICH 97.2"), "cb_nodes", "more")));
  }
  PatternDb db = create(at("patterns.db"));
  must(db.merge(at("other.db"),
                {.filesystem = {}, .mpi = "MPICH 97.2", .hdf5 = "1.10.8", .host_class = {}}));
  ASSERT_EQ(must(db.proofs()).size(), 1u);
  EXPECT_EQ(must(db.proofs()).front().mpi, "MPICH 97.2");
}

TEST_F(Gate, WhatUnjoinsWritesNeedsASieveThatIsRight) {
  const Question old = question("MPICH 3.4.3");
  PatternDb db = create(at("patterns.db"));
  must(db.add_proof(proof_for(old, "romio_cb_write", "disable")));
  must(db.add_proof(proof_for(old, "romio_ds_write", "disable")));
  const Decision alone = passed(old, "romio_cb_write=disable");
  EXPECT_TRUE(alone.settings.empty());
  EXPECT_NE(reason_of(alone, "romio_cb_write").find("sieved"), std::string::npos);
  const Decision both = passed(old, "romio_cb_write=disable;romio_ds_write=disable");
  EXPECT_EQ(both.settings.values().size(), 2u);
  EXPECT_FALSE(both.sieves);
  must(db.add_proof(proof_for(old, "romio_ds_write", "enable")));
  EXPECT_EQ(passed(old, "romio_cb_write=disable").settings.values().size(), 1u);
  EXPECT_TRUE(passed(old, "romio_cb_write=disable").sieves);
}

TEST_F(Gate, OtherLibrariesAreKnownByTheirOwnNames) {
  for (const char* mpi :
       {"Cray MPICH 8.1.28", "Cray MPICH 9.0.0 (MPICH 4.0.2)", "Intel MPI 2021.11",
        "MVAPICH2 2.3.7", "MPICH", "MPICH 4.3.0b1", "HPE MPT 2.30"}) {
    const Decision decision = passed(question(mpi), "cb_nodes=1;chunk_cache=1048576");
    EXPECT_EQ(decision.settings.text(), "chunk_cache=1048576") << mpi;
  }
  const Decision decision = passed(question("Cray MPICH 8.1.28"), "cb_nodes=1");
  EXPECT_NE(reason_of(decision, "cb_nodes").find("Cray MPICH 8.1.28"), std::string::npos);
}

// Its own hints are read by nobody else, and unknown where it reads them.
TEST_F(Gate, HintsOfOneLibraryAreUnknownThereAndIgnoredElsewhere) {
  const std::string cray = "cray_cb_nodes_multiplier=2", ompio = "collective_buffering=false";
  for (const char* mpi : {"Cray MPICH 8.1.28", "Cray MPICH 9.0.0 (MPICH 4.0.2)"}) {
    const Decision decision = passed(question(mpi), cray);
    EXPECT_TRUE(decision.settings.empty()) << mpi;
    EXPECT_NE(reason_of(decision, "cray_cb_nodes_multiplier").find("iotune prove"),
              std::string::npos);
  }
  EXPECT_EQ(passed(question("MPICH 4.0.2"), cray + ";" + ompio).settings.values().size(), 2u);
  EXPECT_EQ(passed(question("Open MPI v5.0.11", kOmpio), cray).settings.values().size(), 1u);
  EXPECT_EQ(passed(question("Open MPI v5.0.11", kOpenMpiRomio), ompio).settings.values().size(),
            1u);
}

// "true" switched it off, and "false" on, until 5.0.10.
TEST_F(Gate, AHintThatIsReadTheOtherWayRoundIsBad) {
  for (const char* mpi : {"Open MPI v4.1.4", "Open MPI v4.1.8", "Open MPI v5.0.8"}) {
    for (const char* settings : {"collective_buffering=true", "collective_buffering=false"}) {
      const Decision decision = passed(question(mpi, kOmpio), settings);
      EXPECT_TRUE(decision.settings.empty()) << mpi << " " << settings;
      EXPECT_NE(reason_of(decision, "collective_buffering").find("other way round"),
                std::string::npos);
    }
  }
  const Decision later = passed(question("Open MPI v6.0.0", kOmpio), "collective_buffering=false");
  EXPECT_NE(reason_of(later, "collective_buffering").find("not proven"), std::string::npos);
}

// A threshold on the size of collective calls leaves larger ones to each rank.
TEST_F(Gate, AThresholdForCollectiveCallsIsSievedLikeCallsThatAreNotJoined) {
  Question asked = question(kUnheardOf);
  asked.filesystem = "lustre";
  PatternDb db = create(at("patterns.db"));
  must(db.add_proof(proof_for(asked, "romio_lustre_coll_threshold", "more")));
  must(db.add_proof(proof_for(asked, "romio_lustre_coll_threshold", "0")));
  const Decision alone = passed(asked, "romio_lustre_coll_threshold=65536");
  EXPECT_TRUE(alone.settings.empty());
  EXPECT_NE(reason_of(alone, "romio_lustre_coll_threshold").find("sieved"), std::string::npos);
  EXPECT_EQ(passed(asked, "romio_lustre_coll_threshold=0").settings.values().size(), 1u);
}

TEST_F(Gate, AConfigurationPassesItAndMayForce) {
  config_ = at("config.xml");
  Question asked = question(kUnheardOf);
  const auto write = [&](const char* attribute) {
    std::ofstream(config_) << "<Parameters" << attribute
                           << "><Middleware_Layer><cb_nodes>2</cb_nodes></Middleware_Layer>"
                              "<High_Level_IO_Library><chunk_cache VariableName='x'>1048576"
                              "</chunk_cache></High_Level_IO_Library></Parameters>";
  };
  write("");
  const Decision plain = must(decide(asked, places()));
  EXPECT_TRUE(plain.settings.empty());
  EXPECT_EQ(plain.of_variables.size(), 1u);
  EXPECT_NE(packed_lines(plain).find("\nrefuse cb_nodes 2 not proven for MPICH 97.1"),
            std::string::npos);
  write(" iotune_force='yes'");
  EXPECT_EQ(must(decide(asked, places())).settings.text(), "cb_nodes=2");
  asked = question(kOldOpenMpi, kOmpio);
  EXPECT_TRUE(must(decide(asked, places())).settings.empty());
  write(" force='yes'");
  EXPECT_FALSE(decide(asked, places()));
}

// No matter who makes a decision: without the gate it is never given out.
TEST_F(Gate, NoDecisionIsGivenOutWithoutIt) {
  Decision decision;
  decision.settings = must(Settings::parse("chunk_cache=1048576"));
  EXPECT_THROW(packed(decision), Fault);
  pass_gate(question(kUnheardOf), places(), decision);
  EXPECT_NE(packed_lines(decision).find("set chunk_cache"), std::string::npos);
}

TEST_F(Gate, AsksOpenMpiForItsMpiIoOnlyWhereThatMatters) {
  static int asked_times;
  asked_times = 0;
  Question asked = question(kOldOpenMpi);
  asked.ask_mpi_io = [](const char*) {
    ++asked_times;
    return kOmpio;
  };
  passed(asked, "chunk_cache=1048576");
  EXPECT_EQ(asked_times, 0);
  EXPECT_NE(reason_of(passed(asked, "cb_nodes=2"), "cb_nodes").find("OMPIO"), std::string::npos);
  EXPECT_GT(asked_times, 0);
}

TEST(ProvenTable, EveryRowCanBeTrue) {
  std::set<std::string> classes;
  for (const ValueClass& one : kValueClasses) {
    const Parameter* const parameter = find_parameter(one.parameter);
    ASSERT_NE(parameter, nullptr) << one.parameter;
    classes.insert(std::string(one.parameter) + " " + one.name);
    std::string tried = one.tried;
    for (std::size_t at = 0; at < tried.size();) {
      const std::string text = tried.substr(at, tried.find(' ', at) - at);
      at += text.size() + 1;
      const Settings settings = must(Settings::parse(text));
      ASSERT_EQ(settings.values().count(one.parameter), 1u) << text;
      EXPECT_EQ(value_class(one.parameter, settings.values().at(one.parameter)), one.name) << text;
    }
  }
  for (const Parameter& parameter : kParameters) {
    EXPECT_NE(classes.lower_bound(std::string(parameter.name) + " "), classes.end());
  }
  for (const KnownRow& row : kKnownRows) {
    ASSERT_NE(find_parameter(row.parameter), nullptr) << row.parameter;
    const bool whole = strcmp(row.value_class, kAnyClass) == 0;
    EXPECT_TRUE(whole || classes.count(std::string(row.parameter) + " " + row.value_class) == 1)
        << row.parameter << " " << row.value_class;
    if (row.known != Known::kProven) continue;
    EXPECT_STREQ(row.because, kBytesTest);
    // Between two tested releases of one major version.
    EXPECT_EQ(std::string(row.from).substr(0, std::string(row.from).find('.')),
              std::string(row.to).substr(0, std::string(row.to).find('.')));
    for (const ValueClass& one : kValueClasses) {
      if (strcmp(one.parameter, row.parameter) != 0) continue;
      if (!whole && strcmp(one.name, row.value_class) != 0) continue;
      for (const char* version : {row.from, row.to}) {
        EXPECT_EQ(known_of({row.library, version}, row.parameter, one.name).known, row.known)
            << row.library << " " << version << " " << row.parameter << " " << one.name;
      }
    }
  }
}

}  // namespace
}  // namespace iotune::patterndb::testing
