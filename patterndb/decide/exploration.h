// Which runs are left at the default although settings are known: without them nobody would ever
// notice that settings have become bad.
#pragma once

#include <string>

#include "patterndb/store/records.h"

namespace iotune::patterndb {

// IOTUNE_EXPLORE=off: no run is left at the default, and none is evidence for or against settings.
bool exploration_is_on();

// What the draws of one run have in common: the run's id where a launcher gives one, so that
// all processes of a run draw alike, else a random number of this process.
std::string seed_of_this_run();

// Uniform in [0, 1): the same for all files of one workload and pattern in a run, unpredictable
// from run to run.
double draw(const std::string& seed, const Workload& workload, const std::string& byte_key);

}  // namespace iotune::patterndb
