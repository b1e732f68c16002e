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
  explicit PackedDecision(const patterndb::Decision& one) {
    const std::string packed = patterndb::packed(one);
    EXPECT_LE(packed.size(), sizeof answer);
    bytes = packed.size();
    std::memcpy(&answer, packed.data(), bytes);
  }
  const Decision& decision() const { return answer.decision; }

  iotune_answer answer = {};
  std::size_t bytes = 0;
};

using NamedValues = std::initializer_list<std::pair<const char*, const char*>>;

// As settings of datasets are kept, which nobody looks at before they are packed: in this order,
// and bad ones too.
inline patterndb::Decision decision_with(NamedValues settings) {
  patterndb::Decision decision;
  decision.gated = true;
  for (const auto& [name, value] : settings) decision.of_variables.push_back({"", name, value});
  return decision;
}

// A decision that has these settings, and a list of them. The texts must outlive it.
struct DecisionOf : PackedDecision {
  explicit DecisionOf(NamedValues all) : PackedDecision(decision_with(all)) {
    clear(settings);
    for (const auto& [name, value] : all) add(settings, {name, value, ""});
  }

  SettingList settings;
};

}  // namespace iotune::tuner
