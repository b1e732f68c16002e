// Builds the structs of decision.h. (The tuner's packed_decision.h reads them.)
#pragma once

#include <string>
#include <vector>

#include "patterndb/decide/program_answers.h"

namespace iotune::patterndb {

// The bytes of a struct iotune_decision. What is for people is cut to what fits: pattern, message,
// and the refused settings, of which the last are left out. Throws Fault where the settings do not
// fit, or did not pass the gate.
std::string packed(const Decision& decision);

// Structs iotune_program_answer, one behind the other: the first ones that fit into `most_bytes`.
std::string packed(const std::vector<ProgramAnswer>& answers, std::size_t most_bytes);

}  // namespace iotune::patterndb
