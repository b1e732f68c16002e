// Decisions as the database library packs them, where the tuner has them: in memory aligned for
// them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "patterndb/decide/decision_writer.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

struct PackedDecision {
  explicit PackedDecision(const patterndb::DecisionParts& parts) {
    const std::string packed = patterndb::pack_decision(parts);
    EXPECT_LE(packed.size(), sizeof answer);
    bytes = packed.size();
    std::memcpy(&answer, packed.data(), bytes);
  }
  const Decision& decision() const { return answer.decision; }

  iotune_answer answer = {};
  std::size_t bytes = 0;
};

using NamedValues = std::initializer_list<std::pair<const char*, const char*>>;

inline patterndb::DecisionParts parts_with(NamedValues settings) {
  patterndb::DecisionParts parts;
  for (const auto& [name, value] : settings) parts.settings.push_back({name, value});
  return parts;
}

// A decision that has these settings, and a list of them. The texts must outlive it.
struct DecisionOf : PackedDecision {
  explicit DecisionOf(NamedValues all) : PackedDecision(parts_with(all)) {
    clear(settings);
    for (const auto& [name, value] : all) add(settings, {name, value, ""});
  }

  SettingList settings;
};

}  // namespace iotune::tuner
