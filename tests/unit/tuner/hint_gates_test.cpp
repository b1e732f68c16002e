#include "tuner/hint_gates.h"

#include <gtest/gtest.h>

#include <cstdio>
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
  for (const char* good :
       {"MPICH 4.0.2", "MPICH 5.0.2", "MPICH 10.1", "Cray MPICH 9.0.0 (MPICH 4.1.2)"}) {
    EXPECT_EQ(first({good, "ext4", 1, false}, alone), nullptr) << good;
    EXPECT_EQ(first({good, "ext4", 1, false}, sieved), nullptr) << good;
  }
  for (const char* old :
       {"MPICH 3.4.3", "Open MPI v4.1.4", "Open MPI v5.0.11", "", "Cray MPICH",
        "Cray MPICH 8.1.25.17 (MPICH 3.4a2)", "Intel MPI 2021.8", "MVAPICH2 2.3.7"}) {
    EXPECT_NE(first({old, "ext4", 1, false}, alone), nullptr) << old;
    EXPECT_NE(first({old, "ext4", 1, false}, sieved), nullptr) << old;
    EXPECT_EQ(first({old, "ext4", 1, false}, both), nullptr) << old;
  }
  EXPECT_NE(first({"MPICH 4.0.2", "nfs", 1, false}, both), nullptr);
}

// The sieve reads what lies between a rank's pieces and writes it back: bytes of the others.
TEST(HintGates, WhatUnjoinsCollectiveWritesNeedsLocksBetweenNodes) {
  for (const auto& unjoined : {std::pair{"romio_cb_write", "disable"},
                               std::pair{"dxpl_mpio_collective_opt", "individual"}}) {
    const Decision alone = settings({unjoined});
    const Decision direct = settings({unjoined, {"romio_ds_write", "disable"}});
    EXPECT_TRUE(needs_ground(alone)) << unjoined.first;
    EXPECT_EQ(first({"MPICH 4.0.2", "lustre", 1, false}, alone), nullptr) << unjoined.first;
    EXPECT_EQ(first({"MPICH 4.0.2", "lustre", 2, true}, alone), nullptr) << unjoined.first;
    EXPECT_NE(first({"MPICH 4.0.2", "lustre", 2, false}, alone), nullptr) << unjoined.first;
    EXPECT_EQ(first({"MPICH 4.0.2", "lustre", 2, false}, direct), nullptr) << unjoined.first;
    EXPECT_NE(first({"MPICH 4.0.2", "nfs", 1, false}, alone), nullptr) << unjoined.first;
    EXPECT_NE(first({"MPICH 3.4.3", "lustre", 1, false}, alone), nullptr) << unjoined.first;
  }
  const Decision joined = settings({{"dxpl_mpio_collective_opt", "collective"}});
  EXPECT_FALSE(needs_ground(joined));
}

TEST(HintGates, SievedWritesNeedLocks) {
  const Decision sieve = settings({{"romio_ds_write", "enable"}});
  EXPECT_TRUE(needs_ground(sieve));
  EXPECT_EQ(first({"MPICH 4.0.2", "ext4", 1, false}, sieve), nullptr);
  EXPECT_NE(first({"MPICH 4.0.2", "lustre", 2, false}, sieve), nullptr);
  EXPECT_EQ(first({"MPICH 4.0.2", "lustre", 2, true}, sieve), nullptr);
  EXPECT_NE(first({"MPICH 4.0.2", "nfs", 1, false}, sieve), nullptr);
}

TEST(HintGates, OthersAreNotAskedAbout) {
  const Decision harmless =
      settings({{"romio_cb_write", "enable"}, {"romio_ds_write", "disable"}, {"cb_nodes", "2"}});
  EXPECT_FALSE(needs_ground(harmless));
  for (int i = 0; i < harmless.count; ++i) {
    EXPECT_EQ(why_unsafe({"MPICH 3.0", "nfs", 9, false}, harmless, harmless.settings[i]), nullptr);
  }
}

}  // namespace
}  // namespace iotune::tuner
