// The papers' pattern tree: units of the accesses, units of the starts of those, and so on. A unit
// ends where the one that it is like ended, and is followed by what followed that one.
// What is like nothing before goes on as the papers' unit does.
// HPDC 2013, section 4.2 and figure 18, have the tree; how to predict by it is our reading.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/baselines/unit_finder.h"
#include "patterns/predict/baselines/unit_predictor.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

class TreeColumn {
 public:
  void observe(std::int64_t value) noexcept;
  // False before the third value.
  bool next(std::int64_t& value) const noexcept;

 private:
  static constexpr unsigned kRecent = 256;
  std::int64_t recent_[kRecent] = {};
  std::uint32_t count_ = 0;
  UnitColumn unit_;
};

// Seeks the whole tree anew for each prediction: microseconds, and some 4 KB of state.
class TreePredictor {
 public:
  void observe(Extent access) noexcept;
  unsigned predict(std::span<Prediction> out) const noexcept;

 private:
  TreeColumn offsets_, lengths_;
  Extent next_ = {};
  bool known_ = false;
  HitRate rate_;
};

}  // namespace iotune::patterns
