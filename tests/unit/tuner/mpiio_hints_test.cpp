// Which hints are passed, and what reading them back says, under MPIs that are not here: an MPI
// that the tests make, by what it calls itself.
#include "tuner/mpiio/mpiio_hints.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/process/configuration.h"
#include "packed_decision.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/decision/program_settings.h"
#include "tuner/mpiio/openmpi_said.h"
#include "tuner/posix/file_layout.h"
#include "tuner/posix/file_system.h"
#include "tuner/posix/placement.h"
#include "tuner/posix/posix_advice.h"

namespace iotune {

Provider* world_provider() noexcept {
  return nullptr;
}
const MpiApi* mpi_api(Provider&) noexcept {
  return nullptr;
}

namespace {
std::map<std::string, std::string> g_in_use, g_of_program;
Configuration g_configuration;
constexpr Word kProgramInfo = 7, kFileInfo = 8, kNoInfo = 9, kFile = 10;
}  // namespace

const Configuration& configuration() noexcept {
  return g_configuration;
}
bool read_info(const MpiApi&, Word info, const char* key, char* value, int bytes) noexcept {
  const auto& hints = info == kProgramInfo ? g_of_program : g_in_use;
  const auto found = hints.find(key);
  if (found == hints.end()) return false;
  snprintf(value, static_cast<std::size_t>(bytes), "%s", found->second.c_str());
  return true;
}

}  // namespace iotune

namespace iotune::tuner {
namespace {
std::map<std::string, std::pair<Verdict, std::string>> g_notes;
std::string g_users;
}  // namespace

bool io_parameters_may_be_set() noexcept {
  return false;
}
LayoutKind layout_kind_of(const char*) noexcept {
  return LayoutKind::kLustre;
}
const char* file_system_of(const char*) noexcept {
  return "ext4";
}
bool locks_hold_between_nodes(const char*, const char*) noexcept {
  return false;
}
bool is_placement(const char*) noexcept {
  return false;
}
bool is_posix_advice(const char*) noexcept {
  return false;
}
bool user_hints_name(const char* name) noexcept {
  return g_users == name;
}
void note_setting(const char*, const char* name, const char*, const char*, Verdict verdict,
                  const Why& why) noexcept {
  ReasonText reason;
  write_reason(why, reason);
  g_notes[name] = {verdict, reason.c_str()};
}

namespace {

MpiApi mpi_named(const char* version, MpiAbi abi) {
  MpiApi mpi{};
  snprintf(mpi.version, sizeof mpi.version, "%s", version);
  mpi.abi = abi;
  mpi.constants.handle_mask = ~Word{0};
  mpi.constants.info_null = kNoInfo;
  mpi.MPI_File_get_info = [](Word, Word* info) {
    *info = kFileInfo;
    return 0;
  };
  mpi.MPI_Info_free = [](Word*) { return 0; };
  return mpi;
}

DecisionOf settings(NamedValues list) {
  return DecisionOf(list);
}

std::unique_ptr<HintPlan> planned(const MpiApi& mpi, const DecisionOf& of,
                                  bool named_relatively = false) {
  auto plan = std::make_unique<HintPlan>();
  plan_hints(mpi, "/tmp/b", kProgramInfo, of.decision(), {1, named_relatively}, *plan);
  return plan;
}

class Hints : public ::testing::Test {
 protected:
  void SetUp() override {
    g_in_use.clear();
    g_of_program.clear();
    g_notes.clear();
    g_users.clear();
    g_configuration = {};
  }

  // What is said of hints that MPI_File_get_info returns as `in_use`.
  void note(const MpiApi& mpi, const DecisionOf& of,
            const std::map<std::string, std::string>& in_use) {
    g_in_use = in_use;
    note_hints(mpi, kFile, "/tmp/b", of.decision(), *planned(mpi, of));
  }
};

// No Open MPI 6 is here. It returns the hints that it uses, and has no ROMIO, on Lustre neither.
TEST_F(Hints, OpenMpi6SaysWhatItUses) {
  const DecisionOf decision = settings({{"cb_nodes", "2"},
                                        {"cb_config_list", "*:2"},
                                        {"cb_buffer_size", "65536"},
                                        {"romio_cb_write", "enable"},
                                        {"collective_buffering", "true"}});
  const std::map<std::string, std::string> in_use{{"cb_nodes", "2"}, {"cb_buffer_size", "4096"}};
  note(mpi_named("Open MPI v6.0.0", MpiAbi::kOpenMpi), decision, in_use);
  EXPECT_EQ(g_notes["cb_nodes"].first, Verdict::kApplied);
  EXPECT_EQ(g_notes["cb_buffer_size"].first, Verdict::kWithoutEffect);
  EXPECT_EQ(g_notes["collective_buffering"].first, Verdict::kWithoutEffect);
  EXPECT_EQ(g_notes["romio_cb_write"].first, Verdict::kWithoutEffect);
  EXPECT_NE(g_notes["romio_cb_write"].second.find("OMPIO"), std::string::npos);
}

TEST_F(Hints, GatheringIsReadByAnotherAndWantsPermission) {
  const DecisionOf decision = settings({{"iotune_gather_writes", "memory"}});
  const MpiApi mpich = mpi_named("MPICH 4.0.2", MpiAbi::kMpich);
  note(mpich, decision, {});
  EXPECT_EQ(g_notes["iotune_gather_writes"].first, Verdict::kRefused);
  g_configuration.gather = "stored";
  note(mpich, decision, {});
  EXPECT_EQ(g_notes["iotune_gather_writes"].first, Verdict::kUnverifiable);
}

// Before, it takes its ROMIO on Lustre and returns what it was given; to version 5's nothing goes.
TEST_F(Hints, OpenMpisRomioIsNotAsked) {
  const DecisionOf decision = settings({{"cb_nodes", "2"}, {"romio_cb_write", "enable"}});
  const std::map<std::string, std::string> given{{"cb_nodes", "2"}, {"romio_cb_write", "enable"}};
  for (const auto& [version, verdict] : {std::pair{"Open MPI v4.1.4", Verdict::kUnverifiable},
                                         std::pair{"Open MPI v5.0.11", Verdict::kWithoutEffect}}) {
    note(mpi_named(version, MpiAbi::kOpenMpi), decision, given);
    EXPECT_EQ(g_notes["cb_nodes"].first, verdict) << version;
    EXPECT_EQ(g_notes["romio_cb_write"].first, verdict) << version;
  }
}

TEST_F(Hints, CrayMpichIsReadBackAsWhatItSays) {
  const DecisionOf decision = settings({{"cb_nodes", "2"}, {"romio_cb_write", "enable"}});
  note(mpi_named("Cray MPICH 8.1.25 (MPICH 3.4a2)", MpiAbi::kMpich), decision, {{"cb_nodes", "2"}});
  EXPECT_EQ(g_notes["cb_nodes"].first, Verdict::kApplied);
  EXPECT_EQ(g_notes["romio_cb_write"].first, Verdict::kWithoutEffect);
}

TEST_F(Hints, ARelativeNameRefusesLateOpens) {
  const MpiApi mpi = mpi_named("MPICH 4.0.2", MpiAbi::kMpich);
  const DecisionOf decision =
      settings({{"romio_no_indep_rw", "true"}, {"cb_buffer_size", "65536"}});
  EXPECT_EQ(planned(mpi, decision)->wanted.count, 2);
  const std::unique_ptr<HintPlan> plan = planned(mpi, decision, true);
  EXPECT_EQ(plan->wanted.count, 1);
  EXPECT_EQ(plan->refused[0], Reason::kWantsAWholePath);
}

// ROMIO would set romio_cb_write itself.
TEST_F(Hints, WhatOverridesAHintOfOthersIsTheirs) {
  const MpiApi mpi = mpi_named("MPICH 4.0.2", MpiAbi::kMpich);
  const DecisionOf decision = settings({{"romio_no_indep_rw", "true"}});
  for (const char* name : {"romio_cb_write", "romio_cb_read"}) {
    g_of_program = {{name, "automatic"}};
    EXPECT_NE(planned(mpi, decision)->refused[0], Reason::kNone) << name;
    g_of_program.clear();
    g_users = name;
    EXPECT_NE(planned(mpi, decision)->refused[0], Reason::kNone) << name;
    g_users.clear();
  }
  EXPECT_EQ(planned(mpi, decision)->refused[0], Reason::kNone);
  g_of_program = {{"romio_cb_write", "disable"}};
  EXPECT_EQ(planned(mpi, settings({{"romio_no_indep_rw", "false"}}))->refused[0], Reason::kNone);
}

}  // namespace
}  // namespace iotune::tuner
