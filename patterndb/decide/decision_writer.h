// Builds the structs of decision.h. (The tuner's packed_decision.h reads them.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "patterndb/decide/decision.h"

namespace iotune::patterndb {

// What a decision says. The views must outlive the call that they are passed to.
struct DecisionParts {
  struct Entry {
    std::string_view name, value;
    std::string_view detail = {};  // a setting's dataset, or why it is refused
  };
  iotune_source source = IOTUNE_SOURCE_UNKNOWN;
  iotune_state state = IOTUNE_STATE_UNTRAINED;
  std::int64_t row = -1;
  std::int64_t distance_milli = -1;  // thousandths; negative: none is known
  bool sieves = false;
  std::string_view pattern, message;
  std::vector<Entry> settings, refused;
};

// The bytes of a struct iotune_decision. What is for people is cut to what fits: pattern, message,
// and the refused settings, of which the last are left out. Empty where the settings do not fit.
std::string pack_decision(const DecisionParts& parts);

// The bytes of a struct iotune_program_answer around a packed decision.
struct ProgramAnswerParts {
  std::string_view file, filesystem;
  bool masked, creating;
};
std::string pack_program_answer(const ProgramAnswerParts& parts, const std::string& decision);

}  // namespace iotune::patterndb
