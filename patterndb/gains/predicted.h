// Settings for a pattern without a measured answer: what a model of this very platform expects.
#pragma once

#include <optional>
#include <string>

#include "patterndb/gains/stored_gains.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

// A pattern as a gain model takes it, without what is known to the database of it alone.
struct PatternOfFile {
  Pattern pattern;
  std::uint64_t datasets = 1, repeats = 1;
};

struct PredictedAnswer {
  Settings settings;
  double gain, low, high;  // how many times faster than without settings
  std::uint64_t patterns;  // that the model was fitted to
  double made_at;
};

struct Predicted {
  // The candidate with the greatest expected gain among those whose gain is surely above 1, chosen
  // as it is among many; nothing where there is none, and `why` says so in words.
  std::optional<PredictedAnswer> answer;
  std::string why;
  // That of the greatest expected gain, sure or not, which a run may try: it changes nothing on
  // disk. Empty: none is worth it.
  Settings hopeful;
};

// `creating`: layouts of files can be set.
Predicted predicted(const StoredGainModel& model, const PatternOfFile& file,
                    const Platform& platform, std::uint32_t nodes, bool creating);

}  // namespace iotune::patterndb
