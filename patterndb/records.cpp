#include "patterndb/records.h"

namespace iotune::patterndb {

namespace {

struct StateName {
  State state;
  const char* name;
};
constexpr StateName kStates[] = {{State::kUntrained, "untrained"},
                                 {State::kDefaultIsBest, "default-is-best"},
                                 {State::kTuned, "tuned"},
                                 {State::kReverted, "reverted"},
                                 {State::kRefused, "refused"}};

}  // namespace

const char* state_name(State state) {
  for (const StateName& known : kStates) {
    if (known.state == state) return known.name;
  }
  return "untrained";
}

std::optional<State> state_named(const std::string& name) {
  for (const StateName& known : kStates) {
    if (name == known.name) return known.state;
  }
  return std::nullopt;
}

}  // namespace iotune::patterndb
