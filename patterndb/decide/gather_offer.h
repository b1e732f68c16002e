// What training measured of letting a pattern's small writes wait (python/iotune/database/offers.py
// writes it). It changes when other ranks see what was written, so it is applied only where the
// user or the site allows it.
#pragma once

#include <string>

#include "patterndb/decide/decide.h"
#include "patterndb/store/records.h"

namespace iotune::patterndb {

// The latest offer of that pattern and platform, of the first database that has one. Where it is
// faster for certain its settings take the place of the decision's; else a word in its message.
void apply_gather_offer(const Question& question, const Places& places, const Platform& platform,
                        const std::string& byte_key, Decision& decision);

}  // namespace iotune::patterndb
