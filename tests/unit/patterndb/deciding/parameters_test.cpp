#include "patterndb/settings/parameters.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

#include "patterndb/settings/parameter_gates.h"
#include "patterndb/settings/settings.h"

namespace iotune {
namespace {

TEST(Parameters, NamesAreUniqueAndGated) {
  std::set<std::string> names;
  for (const Parameter& parameter : kParameters) {
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    ASSERT_NE(find_gate(parameter.name), nullptr) << parameter.name;
    EXPECT_NE(find_gate(parameter.name)[0], '\0') << parameter.name;
    EXPECT_EQ(find_parameter(parameter.name), &parameter);
    EXPECT_GE(parameter.max, parameter.min);
  }
  EXPECT_EQ(std::size(kParameterGates), std::size(kParameters));
  EXPECT_EQ(find_gate("cb_node"), nullptr);
  EXPECT_EQ(find_parameter("cb_node"), nullptr);
  EXPECT_EQ(find_parameter("cb_nodes2"), nullptr);
}

TEST(Parameters, WhatChangesTheLayoutIsNoCandidate) {
  for (const Parameter& parameter : kParameters) {
    bool layout = parameter.disk == DiskEffect::kLayout;
    EXPECT_FALSE(layout && parameter.trainable) << parameter.name;
  }
}

struct Case {
  const char *name, *value;
  bool valid;
};

TEST(Parameters, Validate) {
  const Case cases[] = {
      {"cb_nodes", "1", true},
      {"cb_nodes", "0", false},
      {"cb_nodes", "-1", false},
      {"cb_nodes", " 1", false},
      {"cb_nodes", "1 ", false},
      {"cb_nodes", "1,2", false},
      {"cb_nodes", "", false},
      {"cb_nodes", "0x10", false},
      {"romio_no_indep_rw", "true", true},
      {"romio_no_indep_rw", "TRUE", false},
      {"romio_no_indep_rw", "enable", false},
      {"collective_buffering", "false", true},
      {"collective_buffering", "", false},
      {"romio_cb_pfr", "enable", true},
      {"romio_cb_ds_threshold", "0", true},
      {"romio_cb_ds_threshold", "100", true},
      {"romio_cb_ds_threshold", "101", false},
      {"romio_lustre_co_ratio", "0", false},
      {"romio_lustre_ds_in_coll", "automatic", false},
      {"cray_cb_write_lock_mode", "2", true},
      {"cray_cb_write_lock_mode", "3", false},
      {"cb_buffer_size", "16777216", true},
      {"cb_buffer_size", "2147483648", false},
      {"cb_buffer_size", "99999999999999999999999", false},
      {"alignment", "0,1", true},
      {"alignment", "16384,33554432", true},
      {"alignment", "0,0", false},
      {"alignment", "4096", false},
      {"alignment", "1,2,3", false},
      {"alignment", "1,", false},
      {"meta_block_size", "67108864", true},
      {"meta_block_size", "67108865", false},
      {"chunk", "10,20,30", true},
      {"chunk", "4294967295", true},
      {"chunk", "4294967296", false},
      {"chunk", "0", false},
      {"romio_cb_write", "automatic", true},
      {"romio_cb_write", "Enable", false},
      {"coll_metadata_write", "enable", true},
      {"coll_metadata_write", "automatic", false},
      {"cb_config_list", "*:2", true},
      {"cb_config_list", "node-1:2,node_2.x:1", true},
      {"cb_config_list", "*:1;rm", false},
      {"cb_config_list", "", false},
      {"striping_unit", "1048576", true},
      {"striping_unit", "1000000", false},
      {"fadvise", "random", true},
      {"fadvise", "willneed", false},
      {"fallocate", "1099511627776", true},
      {"fallocate", "4095", false},
      {"nonsense", "1", false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(validate(one.name, one.value) == nullptr, one.valid) << one.name << "=" << one.value;
  }
}

TEST(Settings, CanonicalText) {
  auto settings = patterndb::Settings::parse("romio_cb_write=disable;cb_nodes=2;");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->text(), "cb_nodes=2;romio_cb_write=disable");
  EXPECT_EQ(patterndb::Settings::parse("")->text(), "");
}

TEST(Settings, FaultsNameTheSetting) {
  EXPECT_EQ(patterndb::Settings::parse("cb_nodes=0").error().text(),
            "cb_nodes=0: the value is too small");
  EXPECT_EQ(patterndb::Settings::parse("cb_nodes=1;cb_nodes=2").error().text(),
            "cb_nodes is given twice");
  EXPECT_EQ(patterndb::Settings::parse("speed=11").error().text(),
            "'speed' is no parameter of iotune");
  EXPECT_EQ(patterndb::Settings::parse("cb_nodes").error().text(), "'cb_nodes' is not name=value");
}

}  // namespace
}  // namespace iotune
