#include "tuner/hint_gates.h"

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

TEST(HintGates, OthersAreNotAskedAbout) {
  const Decision harmless = settings({{"romio_cb_write", "enable"}, {"cb_nodes", "2"}});
  EXPECT_FALSE(needs_ground(harmless));
  for (int i = 0; i < harmless.count; ++i) {
    EXPECT_EQ(why_unsafe({false, "nfs", 9, false}, harmless, harmless.settings[i]), nullptr);
  }
}

}  // namespace
}  // namespace iotune::tuner
