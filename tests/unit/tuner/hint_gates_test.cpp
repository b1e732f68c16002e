#include "tuner/mpiio/hint_gates.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "packed_decision.h"

namespace iotune::tuner {
namespace {

DecisionOf settings(NamedValues list) {
  return DecisionOf(list);
}

Reason first(const HintGround& ground, const DecisionOf& of) {
  return why_unsafe(ground, of.settings, of.settings.settings[0]);
}

bool needs_ground(const DecisionOf& of) {
  return tuner::needs_ground(of.decision());
}

TEST(HintGates, IndependentWritesThatAreSievedNeedAFixedMpi) {
  const DecisionOf alone = settings({{"romio_cb_write", "disable"}});
  const DecisionOf both = settings({{"romio_cb_write", "disable"}, {"romio_ds_write", "disable"}});
  const DecisionOf sieved = settings({{"romio_cb_write", "disable"}, {"romio_ds_write", "enable"}});
  EXPECT_TRUE(needs_ground(alone));
  for (const DecisionOf& one : {alone, sieved}) {
    EXPECT_EQ(first({true, "ext4", 1, false}, one), Reason::kNone);
    EXPECT_NE(first({false, "ext4", 1, false}, one), Reason::kNone);
  }
  EXPECT_EQ(first({false, "ext4", 1, false}, both), Reason::kNone);
  EXPECT_NE(first({true, "nfs", 1, false}, both), Reason::kNone);
}

// The sieve reads what lies between a rank's pieces and writes it back: bytes of the others.
TEST(HintGates, WhatUnjoinsCollectiveWritesNeedsLocksBetweenNodes) {
  for (const auto& unjoined : {std::pair{"romio_cb_write", "disable"},
                               std::pair{"dxpl_mpio_collective_opt", "individual"}}) {
    const DecisionOf alone = settings({unjoined});
    const bool individual = std::strcmp(unjoined.first, "dxpl_mpio_collective_opt") == 0;
    const DecisionOf direct =
        individual
            ? settings({unjoined, {"romio_cb_write", "enable"}, {"romio_ds_write", "disable"}})
            : settings({unjoined, {"romio_ds_write", "disable"}});
    EXPECT_TRUE(needs_ground(alone)) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 1, false}, alone), Reason::kNone) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 2, true}, alone), Reason::kNone) << unjoined.first;
    EXPECT_NE(first({true, "lustre", 2, false}, alone), Reason::kNone) << unjoined.first;
    EXPECT_EQ(first({true, "lustre", 2, false}, direct), Reason::kNone) << unjoined.first;
    EXPECT_NE(first({true, "nfs", 1, false}, alone), Reason::kNone) << unjoined.first;
    EXPECT_NE(first({false, "lustre", 1, false}, alone), Reason::kNone) << unjoined.first;
  }
  const DecisionOf joined = settings({{"dxpl_mpio_collective_opt", "collective"}});
  EXPECT_FALSE(needs_ground(joined));
}

TEST(HintGates, SievedWritesNeedLocks) {
  const DecisionOf sieve = settings({{"romio_ds_write", "enable"}});
  EXPECT_TRUE(needs_ground(sieve));
  EXPECT_EQ(first({true, "ext4", 1, false}, sieve), Reason::kNone);
  EXPECT_NE(first({true, "lustre", 2, false}, sieve), Reason::kNone);
  EXPECT_EQ(first({true, "lustre", 2, true}, sieve), Reason::kNone);
  EXPECT_NE(first({true, "nfs", 1, false}, sieve), Reason::kNone);
}

// ROMIO's own choice not to join collective writes, and no sieve: wrong bytes with MPICH 4.0.2.
TEST(HintGates, WritesWithoutASieveNeedAHintWhetherToJoin) {
  const HintGround ground{true, "ext4", 1, true};
  EXPECT_TRUE(needs_ground(settings({{"romio_ds_write", "disable"}})));
  EXPECT_NE(first(ground, settings({{"romio_ds_write", "disable"}})), Reason::kNone);
  EXPECT_NE(
      first(ground, settings({{"romio_ds_write", "disable"}, {"romio_cb_write", "automatic"}})),
      Reason::kNone);
  for (const char* const collective : {"enable", "disable"}) {
    const DecisionOf both =
        settings({{"romio_ds_write", "disable"}, {"romio_cb_write", collective}});
    EXPECT_EQ(first(ground, both), Reason::kNone) << collective;
  }
}

// A rank that is no aggregator opens the file at its first independent call: under a relative name,
// after a chdir, that is another file.
TEST(HintGates, NoIndependentCallsWantAWholePath) {
  const DecisionOf alone = settings({{"romio_no_indep_rw", "true"}});
  EXPECT_TRUE(needs_ground(alone));
  EXPECT_EQ(first({true, "ext4", 1, false, true}, alone), Reason::kNone);
  EXPECT_NE(first({true, "ext4", 1, false, false}, alone), Reason::kNone);
  EXPECT_EQ(first({true, "ext4", 1, false, false}, settings({{"romio_no_indep_rw", "false"}})),
            Reason::kNone);
}

TEST(HintGates, NoIndependentCallsContradictCallsThatAreNotJoined) {
  const HintGround ground{true, "ext4", 1, true, true};
  for (const char* const joining : {"romio_cb_write", "romio_cb_read"}) {
    const DecisionOf both = settings({{"romio_no_indep_rw", "true"}, {joining, "disable"}});
    EXPECT_NE(first(ground, both), Reason::kNone) << joining;
    const DecisionOf joined = settings({{"romio_no_indep_rw", "true"}, {joining, "enable"}});
    EXPECT_EQ(first(ground, joined), Reason::kNone) << joining;
  }
  const DecisionOf transfers = settings({{kIndividualIoSetting, "individual"},
                                         {"romio_ds_write", "disable"},
                                         {"romio_no_indep_rw", "true"}});
  EXPECT_NE(first(ground, transfers), Reason::kNone);
}

// ROMIO sets both itself then, and so over what had been set before.
TEST(HintGates, NoIndependentCallsOverrideBothJoinings) {
  const DecisionOf one = settings({{"romio_no_indep_rw", "true"}});
  EXPECT_STREQ(overridden_by(one.settings.settings[0], 0), "romio_cb_write");
  EXPECT_STREQ(overridden_by(one.settings.settings[0], 1), "romio_cb_read");
  EXPECT_EQ(overridden_by(one.settings.settings[0], 2), nullptr);
  const DecisionOf other = settings({{"romio_no_indep_rw", "false"}});
  EXPECT_EQ(overridden_by(other.settings.settings[0], 0), nullptr);
}

TEST(HintGates, WhatGoesWithFileRealmsIsNotSetWithoutThem) {
  const HintGround ground{true, "ext4", 1, true};
  for (const auto& one :
       {std::pair{"romio_cb_alltoall", "enable"}, std::pair{"romio_cb_ds_threshold", "50"}}) {
    EXPECT_TRUE(needs_ground(settings({one})));
    EXPECT_NE(first(ground, settings({one})), Reason::kNone) << one.first;
    EXPECT_NE(first(ground, settings({one, {"romio_cb_pfr", "disable"}})), Reason::kNone)
        << one.first;
    EXPECT_EQ(first(ground, settings({one, {"romio_cb_pfr", "enable"}})), Reason::kNone)
        << one.first;
  }
}

TEST(HintGates, WhatSievesByItselfNeedsLocks) {
  for (const auto& one :
       {std::pair{"romio_cb_pfr", "enable"}, std::pair{"romio_cb_pfr", "automatic"},
        std::pair{"collective_buffering", "false"}}) {
    const DecisionOf sieve = settings({one});
    EXPECT_TRUE(needs_ground(sieve)) << one.first;
    EXPECT_EQ(first({true, "ext4", 1, false}, sieve), Reason::kNone) << one.first;
    EXPECT_NE(first({true, "lustre", 2, false}, sieve), Reason::kNone) << one.first;
    EXPECT_EQ(first({true, "lustre", 2, true}, sieve), Reason::kNone) << one.first;
    EXPECT_NE(first({true, "nfs", 1, false}, sieve), Reason::kNone) << one.first;
  }
  EXPECT_FALSE(needs_ground(settings({{"collective_buffering", "true"}})));
}

TEST(HintGates, WhatIsReadOnLustreAloneIsRefusedElsewhere) {
  for (const auto& one :
       {std::pair{"romio_lustre_co_ratio", "2"}, std::pair{"romio_lustre_coll_threshold", "0"},
        std::pair{"romio_lustre_ds_in_coll", "disable"}, std::pair{"cray_cb_nodes_multiplier", "2"},
        std::pair{"cray_cb_write_lock_mode", "0"}}) {
    EXPECT_TRUE(needs_ground(settings({one}))) << one.first;
    EXPECT_EQ(first({true, "lustre", 9, false}, settings({one})), Reason::kNone) << one.first;
    for (const char* const elsewhere : {"ext4", "cephfs", "nfs", "unknown"}) {
      EXPECT_NE(first({true, elsewhere, 1, true}, settings({one})), Reason::kNone) << one.first;
    }
  }
}

// Larger requests are then each rank's own.
TEST(HintGates, AThresholdForCollectiveCallsIsOneWayNotToJoinThem) {
  const DecisionOf alone = settings({{"romio_lustre_coll_threshold", "4096"}});
  EXPECT_EQ(first({true, "lustre", 1, false}, alone), Reason::kNone);
  EXPECT_NE(first({true, "lustre", 2, false}, alone), Reason::kNone);
  EXPECT_NE(first({false, "lustre", 1, false}, alone), Reason::kNone);
  EXPECT_EQ(first({false, "lustre", 2, false}, settings({{"romio_lustre_coll_threshold", "4096"},
                                                         {"romio_ds_write", "disable"},
                                                         {"romio_cb_write", "enable"}})),
            Reason::kNone);
}

TEST(HintGates, CraysLockModesWantCollectiveBuffering) {
  const HintGround ground{true, "lustre", 2, true, true};
  const std::pair joined{"romio_cb_write", "enable"}, promised{"romio_no_indep_rw", "true"};
  const std::pair shared{"cray_cb_write_lock_mode", "1"}, ahead{"cray_cb_write_lock_mode", "2"};
  EXPECT_NE(first(ground, settings({ahead})), Reason::kNone);
  EXPECT_EQ(first(ground, settings({ahead, joined})), Reason::kNone);
  EXPECT_NE(first(ground, settings({shared, joined})), Reason::kNone);
  EXPECT_EQ(first(ground, settings({shared, joined, promised})), Reason::kNone);
}

TEST(HintGates, OthersAreNotAskedAbout) {
  const DecisionOf harmless = settings({{"romio_cb_write", "enable"}, {"cb_nodes", "2"}});
  EXPECT_FALSE(needs_ground(harmless));
  const SettingList& list = harmless.settings;
  for (int i = 0; i < list.count; ++i) {
    EXPECT_EQ(why_unsafe({false, "nfs", 9, false}, list, list.settings[i]), Reason::kNone);
  }
}

}  // namespace
}  // namespace iotune::tuner
