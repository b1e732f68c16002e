// The decision for a pattern without a measured answer, nor one that resembles it.
#pragma once

#include <string>

#include "patterndb/decide/decide.h"

namespace iotune::patterndb {

// Gives `decision`, of source "untrained", what a model of the platform is sure of: the user's own
// model, else a lower database's. Else its message changes, and a series of
// the run may begin with what the model expects most of (Decision::hopeful). The run's observation
// adopts what it got (adopted.h). Throws Fault.
void apply_predicted(const Question& question, const Places& places, const Platform& platform,
                     const std::string& byte_key, Decision& decision);

}  // namespace iotune::patterndb
