#include "tuner/decision/packed_decision.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "packed_decision.h"
#include "patterndb/settings/parameters.h"

namespace iotune::tuner {
namespace {

using patterndb::packed;

using Unpacked = patterndb::Decision;

bool is_whole(const PackedDecision& one) {
  return tuner::is_whole(one.decision(), one.bytes);
}

Unpacked example() {
  Unpacked parts = decision_with({{"cb_nodes", "2"}, {"cb_buffer_size", "1048576"}});
  parts.of_variables.push_back({"/Step#0/x", "chunk_cache", "1048576"});
  parts.source = IOTUNE_SOURCE_EXACT;
  parts.state = TuningState::kTuned;
  parts.row = 7;
  parts.distance = 1.5;
  parts.pattern = "<1D,(BLOCK),(8388608)>";
  parts.message = "trained for vpic-io";
  parts.refused = {{"romio_cb_read", "enable", "known bad: several words", "", ""}};
  return parts;
}

// Every text that an accessor gives.
std::string all_texts(const Decision& decision) {
  std::string all = std::string(pattern_of(decision)) + message_of(decision);
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting one = setting_of(decision, i);
    all += std::string(one.name) + one.value + one.dataset;
  }
  for (int i = 0; i < decision.refused_count; ++i) {
    const RefusedSetting one = refused_of(decision, i);
    all += std::string(one.name) + one.value + one.reason;
  }
  return all;
}

TEST(PackedDecision, WhatWasPackedIsRead) {
  const PackedDecision packed(example());
  ASSERT_TRUE(is_whole(packed));
  const Decision& decision = packed.decision();
  EXPECT_EQ(decision.bytes, packed.bytes);
  EXPECT_EQ(decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_EQ(decision.state, IOTUNE_STATE_TUNED);
  EXPECT_EQ(decision.row, 7);
  EXPECT_EQ(decision.distance_milli, 1500);
  EXPECT_EQ(decision.sieves, 0);
  EXPECT_EQ(decision.unasked_opens, 0u);
  EXPECT_EQ(decision.own_parameters, 0u);
  EXPECT_STREQ(pattern_of(decision), "<1D,(BLOCK),(8388608)>");
  EXPECT_STREQ(message_of(decision), "trained for vpic-io");
  ASSERT_EQ(decision.setting_count, 3);
  EXPECT_STREQ(setting_of(decision, 1).name, "cb_buffer_size");
  EXPECT_STREQ(setting_of(decision, 1).value, "1048576");
  EXPECT_STREQ(setting_of(decision, 1).dataset, "");
  EXPECT_STREQ(setting_of(decision, 2).dataset, "/Step#0/x");
  ASSERT_EQ(decision.refused_count, 1);
  EXPECT_STREQ(refused_of(decision, 0).reason, "known bad: several words");
}

TEST(PackedDecision, ADistanceThatIsNotGivenIsNone) {
  EXPECT_LT(PackedDecision(Unpacked{}).decision().distance_milli, 0);
  Decision none;
  clear(none);
  EXPECT_LT(none.distance_milli, 0);
}

TEST(PackedDecision, AClearedOneSaysNothing) {
  Decision none;
  clear(none);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(none.setting_count, 0);
  EXPECT_EQ(all_texts(none), "");
  EXPECT_FALSE(tuner::is_whole(none, sizeof none));
}

// Rank 0 asks for the parameters of Open MPI only where some hint may be made by one.
TEST(PackedDecision, NamesSettingsByHowTheyBegin) {
  Unpacked parts = decision_with({{"romio_cb_write", "enable"}});
  parts.message = "cb_nodes";
  parts.refused = {{"cb_nodes", "2", "why", "", ""}};
  EXPECT_FALSE(names_settings(PackedDecision(parts).decision(), "cb_"));
  parts.of_variables.push_back({"", "cb_nodes", "2"});
  EXPECT_TRUE(names_settings(PackedDecision(parts).decision(), "cb_"));
  EXPECT_FALSE(names_settings(PackedDecision(parts).decision(), "striping_"));
}

TEST(PackedDecision, ASettingOfOneDatasetIsNotOneOfAll) {
  const PackedDecision packed(example());
  SettingList list;
  fill(list, packed.decision());
  ASSERT_EQ(list.count, 3);
  EXPECT_STREQ(find_setting(list, "cb_nodes"), "2");
  EXPECT_EQ(find_setting(list, "chunk_cache"), nullptr);
  for (int i = 0; i < 2 * kMaxSettings; ++i) add(list, {"cb_nodes", "3", ""});
  EXPECT_EQ(list.count, kMaxSettings);
}

TEST(PackedDecision, RefusedOnesComeWithTheirReasonAndAreNoSettings) {
  const std::string reason(400, 'x');
  Unpacked parts = decision_with({{"cb_buffer_size", "1048576"}});
  parts.sieves = true;
  parts.refused = {{"cb_nodes", "2", "known bad: several words", "", ""},
                   {"alone", "", "", "", ""},
                   {"chunk", "1,2", reason, "", ""}};
  for (int i = 0; i < 40; ++i) parts.refused.push_back({"romio_cb_read", "enable", "why", "", ""});
  const PackedDecision packed(parts);
  ASSERT_TRUE(is_whole(packed));
  const Decision& decision = packed.decision();
  EXPECT_EQ(decision.setting_count, 1);
  EXPECT_EQ(decision.sieves, 1);
  ASSERT_EQ(decision.refused_count, IOTUNE_DECISION_MAX_REFUSED);
  EXPECT_STREQ(refused_of(decision, 0).name, "cb_nodes");
  EXPECT_STREQ(refused_of(decision, 0).value, "2");
  EXPECT_STREQ(refused_of(decision, 0).reason, "known bad: several words");
  EXPECT_STREQ(refused_of(decision, 1).name, "alone");
  EXPECT_STREQ(refused_of(decision, 1).reason, "");
  EXPECT_EQ(std::strlen(refused_of(decision, 2).reason), 255u);
}

TEST(PackedDecision, TextsForPeopleGiveWayToSettings) {
  const std::string text(2000, 'x'), value(240, '7');
  Unpacked parts = decision_with({});
  parts.pattern = parts.message = text;
  for (unsigned i = 0; i < IOTUNE_DECISION_MAX_SETTINGS; ++i) {
    parts.of_variables.push_back({"", "cb_nodes", value.substr(0, 60)});
  }
  for (int i = 0; i < 30; ++i) parts.refused.push_back({"cb_nodes", value, text, "", ""});
  EXPECT_LE(packed(parts).size(), IOTUNE_DECISION_MAX_BYTES);
  const PackedDecision read(parts);
  EXPECT_EQ(std::strlen(pattern_of(read.decision())), 511u);
  EXPECT_EQ(std::strlen(message_of(read.decision())), 511u);
  EXPECT_EQ(read.decision().setting_count, IOTUNE_DECISION_MAX_SETTINGS);
  EXPECT_LT(read.decision().refused_count, IOTUNE_DECISION_MAX_REFUSED);
  // Settings that do not fit are not left out: then there is no decision.
  for (auto& one : parts.of_variables) one.value = value;
  EXPECT_THROW(packed(parts), patterndb::Fault);
  parts.of_variables.assign(IOTUNE_DECISION_MAX_SETTINGS + 1, {"", "cb_nodes", "2"});
  EXPECT_THROW(packed(parts), patterndb::Fault);
}

// Rank 0 fills in what it says for all, and the decision stays whole.
TEST(PackedDecision, WhatRankZeroSaysForAllStandsInTheHeader) {
  PackedDecision packed(example());
  packed.answer.decision.own_parameters = 5;
  packed.answer.decision.unasked_opens = 63;
  EXPECT_TRUE(is_whole(packed));
}

TEST(PackedDecision, SettingsThatNobodyKnowsAreRefusedWhole) {
  std::string too_long = "10485760";
  for (int i = 1; i < 32; ++i) too_long += ",10485760";
  ASSERT_EQ(validate("chunk", too_long.c_str()), nullptr);
  const std::string dataset(128, 'x');
  const patterndb::VariableSetting bad[] = {{"", "warp", "9"},
                                            {"", "cb_nodes", "none"},
                                            {"", "cb_nodes", ""},
                                            {"", "chunk", too_long},
                                            {dataset, "chunk_cache", "1048576"}};
  for (const patterndb::VariableSetting& one : bad) {
    Unpacked parts = example();
    parts.of_variables.push_back(one);
    EXPECT_FALSE(is_whole(PackedDecision(parts))) << one.name << " " << one.value;
    parts = example();
    parts.refused.push_back(
        {one.name, one.value, one.variable, "", ""});  // of these nothing is applied
    EXPECT_TRUE(is_whole(PackedDecision(parts))) << one.name << " " << one.value;
  }
}

TEST(PackedDecision, ADamagedHeaderIsNoDecision) {
  using Damage = std::function<void(Decision&)>;
  const Damage damages[] = {
      [](Decision& one) { one.version = IOTUNE_DECISION_VERSION - 1; },
      [](Decision& one) { one.version = IOTUNE_DECISION_VERSION + 1; },
      [](Decision& one) { one.bytes += 8; },
      [](Decision& one) { one.bytes -= 1; },
      [](Decision& one) { one.bytes -= 8; },
      [](Decision& one) { one.bytes = 0; },
      [](Decision& one) { one.bytes = sizeof one; },
      [](Decision& one) { one.bytes = IOTUNE_DECISION_MAX_BYTES + 8; },
      [](Decision& one) { one.bytes = UINT32_MAX & ~7u; },
      [](Decision& one) { one.source = IOTUNE_SOURCE_NONE; },
      [](Decision& one) { one.source = IOTUNE_SOURCES; },
      [](Decision& one) { one.state = IOTUNE_STATES; },
      [](Decision& one) { one.setting_count = IOTUNE_DECISION_MAX_SETTINGS + 1; },
      [](Decision& one) { one.setting_count = UINT16_MAX; },
      [](Decision& one) { one.refused_count = IOTUNE_DECISION_MAX_REFUSED + 1; },
      // Entries that would lie where the texts are, or beyond the end.
      [](Decision& one) { one.setting_count = 5; },
      [](Decision& one) { one.setting_count = IOTUNE_DECISION_MAX_SETTINGS; },
      [](Decision& one) { one.pattern = 0; },
      [](Decision& one) { one.message = sizeof one; },
      [](Decision& one) { one.pattern = static_cast<std::uint16_t>(one.bytes); },
      [](Decision& one) { one.message = UINT16_MAX; },
  };
  int number = 0;
  for (const Damage& damage : damages) {
    PackedDecision packed(example());
    ASSERT_TRUE(is_whole(packed));
    damage(packed.answer.decision);
    EXPECT_FALSE(is_whole(packed)) << "damage " << number;
    ++number;
  }
}

TEST(PackedDecision, AnOffsetBeyondTheEndIsNoDecision) {
  const PackedDecision good(example());
  const std::size_t entries = 4, words = entries * 3;
  for (std::size_t word = 0; word < words; ++word) {
    for (const std::uint32_t offset :
         {0u, 8u, static_cast<unsigned>(sizeof(Decision)), good.decision().bytes, 0xffffu}) {
      PackedDecision packed = good;
      const auto bad = static_cast<std::uint16_t>(offset);
      std::memcpy(packed.answer.message + sizeof(Decision) + word * sizeof bad, &bad, sizeof bad);
      EXPECT_FALSE(is_whole(packed)) << word << " " << offset;
    }
  }
}

TEST(PackedDecision, ATextWithoutAnEndIsNoDecision) {
  PackedDecision packed(example());
  packed.answer.message[packed.bytes - 1] = 'x';
  EXPECT_FALSE(is_whole(packed));
}

// Whatever byte is damaged: what passes for whole is read without leaving its bytes, which lie at
// the end of its memory.
TEST(PackedDecision, NoDamageLeadsBeyondTheEnd) {
  const std::string good = packed(example());
  std::vector<std::uint64_t> memory(good.size() / sizeof(std::uint64_t));
  char* const bytes = reinterpret_cast<char*>(memory.data());
  const Decision& decision = *reinterpret_cast<const Decision*>(bytes);
  std::size_t read = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::memcpy(bytes, good.data(), good.size());
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      if (!tuner::is_whole(decision, good.size())) continue;
      read += all_texts(decision).size();
    }
  }
  EXPECT_GT(read, 0u);
  for (std::size_t room = 0; room < good.size(); ++room) {
    std::memcpy(bytes, good.data(), good.size());
    EXPECT_FALSE(tuner::is_whole(decision, room)) << room;
  }
}

std::string two_answers() {
  return packed(
      {{"vpic#.h5", true, "ext4", true, example()}, {"/data/a.bin", false, "", false, example()}},
      std::size_t{1} << 16);
}

TEST(ProgramAnswers, WhatWasPackedIsRead) {
  const std::string packed = two_answers();
  std::vector<std::uint64_t> memory(packed.size() / sizeof(std::uint64_t));
  std::memcpy(memory.data(), packed.data(), packed.size());
  ASSERT_TRUE(are_whole(memory.data(), packed.size()));
  EXPECT_TRUE(are_whole(memory.data(), 0));
  const auto& first = *reinterpret_cast<const iotune_program_answer*>(memory.data());
  EXPECT_STREQ(text_of(first, first.file), "vpic#.h5");
  EXPECT_STREQ(text_of(first, first.filesystem), "ext4");
  EXPECT_EQ(first.masked, 1);
  EXPECT_EQ(first.creating, 1);
  EXPECT_STREQ(setting_of(decision_of(first), 0).name, "cb_nodes");
  const auto& second = *reinterpret_cast<const iotune_program_answer*>(
      reinterpret_cast<const char*>(memory.data()) + first.bytes);
  EXPECT_STREQ(text_of(second, second.file), "/data/a.bin");
  EXPECT_STREQ(text_of(second, second.filesystem), "");
  EXPECT_EQ(second.masked, 0);
  EXPECT_EQ(second.creating, 0);
}

TEST(ProgramAnswers, DamagedOnesAreNotTaken) {
  const std::string packed = two_answers();
  std::vector<std::uint64_t> memory(packed.size() / sizeof(std::uint64_t));
  auto& first = *reinterpret_cast<iotune_program_answer*>(memory.data());
  const auto whole_after = [&](const std::function<void()>& damage) {
    std::memcpy(memory.data(), packed.data(), packed.size());
    damage();
    return are_whole(memory.data(), packed.size());
  };
  EXPECT_TRUE(whole_after([] {}));
  EXPECT_FALSE(whole_after([&] { first.bytes = 0; }));
  EXPECT_FALSE(whole_after([&] { first.bytes = sizeof first; }));
  EXPECT_FALSE(whole_after([&] { first.bytes -= 8; }));
  EXPECT_FALSE(whole_after([&] { first.bytes += 4; }));
  EXPECT_FALSE(whole_after([&] { first.bytes = UINT32_MAX; }));
  EXPECT_FALSE(whole_after([&] { first.file = 0; }));
  EXPECT_FALSE(whole_after([&] { first.file = first.bytes; }));
  EXPECT_FALSE(whole_after([&] { first.filesystem = sizeof first; }));
  EXPECT_FALSE(whole_after([&] { first.filesystem = UINT32_MAX; }));
  EXPECT_FALSE(whole_after([&] { reinterpret_cast<Decision*>(&first + 1)->version = 5; }));
  std::memcpy(memory.data(), packed.data(), packed.size());
  for (std::size_t bytes = 1; bytes < packed.size(); ++bytes) {
    if (bytes == first.bytes) continue;
    EXPECT_FALSE(are_whole(memory.data(), bytes)) << bytes;
  }
}

}  // namespace
}  // namespace iotune::tuner
