#include "tuner/mpiio/hint_gates.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace iotune::tuner {
namespace {

Decision settings(std::initializer_list<std::pair<const char*, const char*>> list) {
  Decision decision{};
  for (const auto& [name, value] : list) {
    Setting& setting = decision.settings[decision.count++];
    snprintf(setting.name, sizeof setting.name, "%s", name);
    snprintf(setting.value, sizeof setting.value, "%s", value);
  }
  return decision;
}

const char* first(const HintGround& ground, const Decision& decision) {
  return why_unsafe(ground, decision, decision.settings[0]);
}

TEST(HintGates, IndependentWritesThatAreSievedNeedAFixedMpi) {
  const Decision alone = settings({{"romio_cb_write", "disable"}});
  const Decision both = settings({{"romio_cb_write", "disable"}, {"romio_ds_write", "disable"}});
  const Decision sieved = settings({{"romio_cb_write", "disable"}, {"romio_ds_write", "enable"}});
  EXPECT_TRUE(needs_ground(alone));
  for (const Decision& one : {alone, sieved}) {
    EXPECT_EQ(first({true, "ext4", 1, false}, one), nullptr);
    EXPECT_NE(first({false, "ext4", 1, false}, one), nullptr);
  }
  EXPECT_EQ(first({false, "ext4", 1, false}, both), nullptr);
  EXPECT_NE(first({true, "nfs", 1, false}, both), nullptr);
}

// The sieve reads what lies between a rank's pieces and writes it back: bytes of the others.
TEST(HintGates, WhatUnjoinsCollectiveWritesNeedsLocksBetweenNodes) {
  for (const auto& unjoined : {std::pair{"romio_cb_write", "disable"},
                               std::pair{"dxpl_mpio_collective_opt", "individual"}}) {
    const Decision alone = settings({unjoined});
    const bool individual = std::strcmp(unjoined.first, "dxpl_mpio_collective_opt") == 0;
    const Decision direct =
        individual
            ? settings({unjoined, {"romio_cb_write", "enable"}, {"romio_ds_write", "disable"}})
            : settings({unjoined, {"romio_ds_write", "disable"}});
    EXPECT_TRUE(needs_ground(alone)) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 1, false}, alone), nullptr) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 2, true}, alone), nullptr) << unjoined.first;
    EXPECT_NE(first({true, "lustre", 2, false}, alone), nullptr) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 2, false}, direct), nullptr) << unjoined.first;
    EXPECT_NE(first({true, "nfs", 1, false}, alone), nullptr) << unjoined.first;
    EXPECT_NE(first({false, "lustre", 1, false}, alone), nullptr) << unjoined.first;
  }
  const Decision joined = settings({{"dxpl_mpio_collective_opt", "collective"}});
  EXPECT_FALSE(needs_ground(joined));
}

TEST(HintGates, SievedWritesNeedLocks) {
  const Decision sieve = settings({{"romio_ds_write", "enable"}});
  EXPECT_TRUE(needs_ground(sieve));
  EXPECT_EQ(first({true, "ext4", 1, false}, sieve), nullptr);
  EXPECT_NE(first({true, "lustre", 2, false}, sieve), nullptr);
  EXPECT_EQ(first({true, "lustre", 2, true}, sieve), nullptr);
  EXPECT_NE(first({true, "nfs", 1, false}, sieve), nullptr);
}

// ROMIO's own choice not to join collective writes, and no sieve: wrong bytes with MPICH 4.0.2.
TEST(HintGates, WritesWithoutASieveWantToBeToldWhetherToJoin) {
  const HintGround ground{true, "ext4", 1, true};
  EXPECT_TRUE(needs_ground(settings({{"romio_ds_write", "disable"}})));
  EXPECT_NE(first(ground, settings({{"romio_ds_write", "disable"}})), nullptr);
  EXPECT_NE(
      first(ground, settings({{"romio_ds_write", "disable"}, {"romio_cb_write", "automatic"}})),
      nullptr);
  for (const char* const told : {"enable", "disable"}) {
    const Decision both = settings({{"romio_ds_write", "disable"}, {"romio_cb_write", told}});
    EXPECT_EQ(first(ground, both), nullptr) << told;
  }
}

// A rank that is no aggregator opens the file at its first independent call: under a relative name,
// after a chdir, that is another file.
TEST(HintGates, NoIndependentCallsWantAWholePath) {
  const Decision alone = settings({{"romio_no_indep_rw", "true"}});
  EXPECT_TRUE(needs_ground(alone));
  EXPECT_EQ(first({true, "ext4", 1, false, true}, alone), nullptr);
  EXPECT_NE(first({true, "ext4", 1, false, false}, alone), nullptr);
  EXPECT_EQ(first({true, "ext4", 1, false, false}, settings({{"romio_no_indep_rw", "false"}})),
            nullptr);
}

TEST(HintGates, NoIndependentCallsContradictCallsThatAreNotJoined) {
  const HintGround ground{true, "ext4", 1, true, true};
  for (const char* const joining : {"romio_cb_write", "romio_cb_read"}) {
    const Decision both = settings({{"romio_no_indep_rw", "true"}, {joining, "disable"}});
    EXPECT_NE(first(ground, both), nullptr) << joining;
    const Decision joined = settings({{"romio_no_indep_rw", "true"}, {joining, "enable"}});
    EXPECT_EQ(first(ground, joined), nullptr) << joining;
  }
  const Decision transfers = settings({{kIndividualIoSetting, "individual"},
                                       {"romio_ds_write", "disable"},
                                       {"romio_no_indep_rw", "true"}});
  EXPECT_NE(first(ground, transfers), nullptr);
}

// ROMIO sets both itself then, and so over whoever had set them.
TEST(HintGates, NoIndependentCallsOverrideBothJoinings) {
  const Decision one = settings({{"romio_no_indep_rw", "true"}});
  EXPECT_STREQ(overridden_by(one.settings[0], 0), "romio_cb_write");
  EXPECT_STREQ(overridden_by(one.settings[0], 1), "romio_cb_read");
  EXPECT_EQ(overridden_by(one.settings[0], 2), nullptr);
  const Decision other = settings({{"romio_no_indep_rw", "false"}});
  EXPECT_EQ(overridden_by(other.settings[0], 0), nullptr);
}

TEST(HintGates, WhatGoesWithFileRealmsIsNotSetWithoutThem) {
  const HintGround ground{true, "ext4", 1, true};
  for (const auto& one :
       {std::pair{"romio_cb_alltoall", "enable"}, std::pair{"romio_cb_ds_threshold", "50"}}) {
    EXPECT_TRUE(needs_ground(settings({one})));
    EXPECT_NE(first(ground, settings({one})), nullptr) << one.first;
    EXPECT_NE(first(ground, settings({one, {"romio_cb_pfr", "disable"}})), nullptr) << one.first;
    EXPECT_EQ(first(ground, settings({one, {"romio_cb_pfr", "enable"}})), nullptr) << one.first;
  }
}

TEST(HintGates, WhatSievesByItselfNeedsLocks) {
  for (const auto& one :
       {std::pair{"romio_cb_pfr", "enable"}, std::pair{"romio_cb_pfr", "automatic"},
        std::pair{"collective_buffering", "false"}}) {
    const Decision sieve = settings({one});
    EXPECT_TRUE(needs_ground(sieve)) << one.first;
    EXPECT_EQ(first({true, "ext4", 1, false}, sieve), nullptr) << one.first;
    EXPECT_NE(first({true, "lustre", 2, false}, sieve), nullptr) << one.first;
    EXPECT_EQ(first({true, "lustre", 2, true}, sieve), nullptr) << one.first;
    EXPECT_NE(first({true, "nfs", 1, false}, sieve), nullptr) << one.first;
  }
  EXPECT_FALSE(needs_ground(settings({{"collective_buffering", "true"}})));
}

TEST(HintGates, WhatIsReadOnLustreAloneIsRefusedElsewhere) {
  for (const auto& one :
       {std::pair{"romio_lustre_co_ratio", "2"}, std::pair{"romio_lustre_coll_threshold", "0"},
        std::pair{"romio_lustre_ds_in_coll", "disable"}, std::pair{"cray_cb_nodes_multiplier", "2"},
        std::pair{"cray_cb_write_lock_mode", "0"}}) {
    EXPECT_TRUE(needs_ground(settings({one}))) << one.first;
    EXPECT_EQ(first({true, "lustre", 9, false}, settings({one})), nullptr) << one.first;
    for (const char* const elsewhere : {"ext4", "cephfs", "nfs", "unknown"}) {
      EXPECT_NE(first({true, elsewhere, 1, true}, settings({one})), nullptr) << one.first;
    }
  }
}

// Larger requests are then each rank's own.
TEST(HintGates, AThresholdForCollectiveCallsIsOneWayNotToJoinThem) {
  const Decision alone = settings({{"romio_lustre_coll_threshold", "4096"}});
  EXPECT_EQ(first({true, "lustre", 1, false}, alone), nullptr);
  EXPECT_NE(first({true, "lustre", 2, false}, alone), nullptr);
  EXPECT_NE(first({false, "lustre", 1, false}, alone), nullptr);
  EXPECT_EQ(first({false, "lustre", 2, false}, settings({{"romio_lustre_coll_threshold", "4096"},
                                                         {"romio_ds_write", "disable"},
                                                         {"romio_cb_write", "enable"}})),
            nullptr);
}

TEST(HintGates, CraysLockModesWantCollectiveBuffering) {
  const HintGround ground{true, "lustre", 2, true, true};
  const std::pair joined{"romio_cb_write", "enable"}, promised{"romio_no_indep_rw", "true"};
  const std::pair shared{"cray_cb_write_lock_mode", "1"}, ahead{"cray_cb_write_lock_mode", "2"};
  EXPECT_NE(first(ground, settings({ahead})), nullptr);
  EXPECT_EQ(first(ground, settings({ahead, joined})), nullptr);
  EXPECT_NE(first(ground, settings({shared, joined})), nullptr);
  EXPECT_EQ(first(ground, settings({shared, joined, promised})), nullptr);
}

TEST(HintGates, OthersAreNotAskedAbout) {
  const Decision harmless = settings({{"romio_cb_write", "enable"}, {"cb_nodes", "2"}});
  EXPECT_FALSE(needs_ground(harmless));
  for (int i = 0; i < harmless.count; ++i) {
    EXPECT_EQ(why_unsafe({false, "nfs", 9, false}, harmless, harmless.settings[i]), nullptr);
  }
}

}  // namespace
}  // namespace iotune::tuner
