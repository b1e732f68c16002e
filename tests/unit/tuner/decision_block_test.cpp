#include "tuner/decision/decision_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace iotune::tuner {
namespace {

struct Text {
  const char* lines;
  int settings;  // -1: not a whole decision
};

TEST(DecisionBlock, ADistanceThatIsNotToldIsNone) {
  auto distance_of = [](const std::string& lines) {
    const std::string text = "iotune-decision 1\nsource untrained\n" + lines + "end\n";
    Decision decision;
    EXPECT_TRUE(parse_decision(text.data(), text.size(), decision));
    return decision.distance_milli;
  };
  EXPECT_EQ(distance_of("distance 0\n"), 0);
  EXPECT_EQ(distance_of("distance 1.5\n"), 1500);
  EXPECT_LT(distance_of(""), 0);
}

// A rank without memory to parse a decision must know as well as the others whether they vote.
TEST(DecisionBlock, NamesSettingsWhereverParsingFindsSome) {
  const Text texts[] = {
      {"source patterns\nstate default-is-best\nend\n", 0},
      {"source patterns\nmessage set by nobody: set x\npattern set\nend\n", 0},
      {"set cb_buffer_size 16777216\nend\n", 1},
      {"source patterns\nset cb_nodes 2\nset cb_buffer_size 1048576\nend\n", 2},
      {"settings of a newer version\nend\n", 0},
      {"set cb_nodes 2\n", -1},
      {"set\nend\n", -1},
  };
  for (const Text& one : texts) {
    const std::string text = std::string("iotune-decision 1\n") + one.lines;
    Decision decision;
    const bool whole = parse_decision(text.data(), text.size(), decision);
    EXPECT_EQ(whole, one.settings >= 0) << one.lines;
    if (!whole) continue;
    EXPECT_EQ(decision.count, one.settings) << one.lines;
    EXPECT_EQ(names_settings(text.data(), text.size()), one.settings > 0) << one.lines;
  }
}

TEST(DecisionBlock, RefusedOnesComeWithTheirReasonAndAreNoSettings) {
  const std::string reason(400, 'x');
  std::string text =
      "iotune-decision 1\nset cb_buffer_size 1048576\nsieves 1\n"
      "refuse cb_nodes 2 known bad: several words\nrefuse alone\n"
      "refuse chunk 1,2 " +
      reason + "\n";
  for (int i = 0; i < 40; ++i) text += "refuse romio_cb_read enable why\n";
  text += "end\n";
  Decision decision;
  ASSERT_TRUE(parse_decision(text.data(), text.size(), decision));
  EXPECT_EQ(decision.count, 1);
  EXPECT_TRUE(decision.sieves);
  ASSERT_EQ(decision.refused_count, Decision::kMaxRefused);
  EXPECT_STREQ(decision.refused[0].name, "cb_nodes");
  EXPECT_STREQ(decision.refused[0].value, "2");
  EXPECT_STREQ(decision.refused[0].reason, "known bad: several words");
  EXPECT_STREQ(decision.refused[1].name, "alone");
  EXPECT_STREQ(decision.refused[1].reason, "");
  EXPECT_EQ(std::strlen(decision.refused[2].reason), sizeof decision.refused[2].reason - 1);
  text = "iotune-decision 1\nend\n";
  ASSERT_TRUE(parse_decision(text.data(), text.size(), decision));
  EXPECT_EQ(decision.refused_count, 0);
  EXPECT_FALSE(decision.sieves);
}

TEST(DecisionBlock, OfFurtherOpensOnlyAWholeLineSpeaks) {
  const auto told = [](const std::string& text) { return unasked_opens(text.data(), text.size()); };
  EXPECT_EQ(told("iotune-decision 1\nsource exact\nunasked 63\nend\n"), 63);
  EXPECT_EQ(told("iotune-decision 1\nsource exact\nmessage unasked 63\nend\n"), 0);
  EXPECT_EQ(told("iotune-decision 1\nsource exact\nend\n"), 0);
  EXPECT_EQ(told(""), 0);
}

TEST(DecisionBlock, WhatRankZeroSaysForAllStandsInTheText) {
  const std::string said = "iotune-decision 1\nset cb_nodes 2\nend\n";
  char text[IOTUNE_DECISION_MAX_BYTES];
  Decision decision;
  std::memcpy(text, said.data(), said.size());
  EXPECT_EQ(add_own_parameters(text, said.size(), 0), said.size());
  const std::size_t bytes = add_own_parameters(text, said.size(), 5);
  ASSERT_TRUE(parse_decision(text, bytes, decision));
  EXPECT_EQ(decision.own_parameters, 5U);
  EXPECT_EQ(decision.count, 1);
  ASSERT_TRUE(parse_decision(said.data(), said.size(), decision));
  EXPECT_EQ(decision.own_parameters, 0U);
  // What is no whole decision stays as it is, and so does one that would not fit any longer.
  EXPECT_EQ(add_own_parameters(text, said.size() - 1, 5), said.size() - 1);
  std::string full = said.substr(0, said.size() - 4) + "message ";
  full.resize(sizeof text - 5, 'x');
  full += "\nend\n";
  ASSERT_EQ(full.size(), sizeof text);
  std::memcpy(text, full.data(), full.size());
  EXPECT_EQ(add_own_parameters(text, full.size(), 5), full.size());
  EXPECT_EQ(std::memcmp(text, full.data(), full.size()), 0);
}

}  // namespace
}  // namespace iotune::tuner
