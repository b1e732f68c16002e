// The one gate through which every decision passes, whatever its source: only settings that are
// known to be right are left in it (docs/safety.md).
#pragma once

#include "patterndb/decide/decide.h"
#include "patterndb/settings/proven.h"

namespace iotune::patterndb {

// Moves what may not be applied from the decision's settings to `refused`, with the reason, and
// marks it as having passed. Asks the database for what was proven here, where that matters. A
// second pass changes nothing.
void pass_gate(const Question& question, const Places& places, Decision& decision);

// What the gate says of each setting, with the reason where it is refused; for people.
struct GateAnswer {
  Known known;
  bool proven_here;
  std::string reason;  // "" where it is applied
};
GateAnswer ask_gate(const Question& question, const Places& places, const std::string& name,
                    const std::string& value);

}  // namespace iotune::patterndb
