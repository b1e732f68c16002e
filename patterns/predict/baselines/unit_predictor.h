// The papers' prediction: units are sought in the recent past, and the last one goes on.
// After [0,(3,4,7)^2] come 31, 35, 42.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/baselines/unit_finder.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// One column of the accesses: offsets, or lengths.
class UnitColumn {
 public:
  // Returns whether the value was the predicted one. Where it was not, units are sought anew.
  bool observe(std::int64_t value) noexcept;
  // The value `ahead` steps after the last one, 1 the next. False before the third value.
  bool predict(unsigned ahead, std::int64_t& value) const noexcept;

 private:
  static constexpr unsigned kRecent = 64;

  std::int64_t recent_[kRecent] = {};
  std::int64_t walked_[kUnitWindow] = {};  // deltas
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;  // of walked_
  std::uint32_t at_ = 0;    // the delta that comes next
};

class UnitPredictor {
 public:
  void observe(Extent access) noexcept;
  unsigned predict(std::span<Prediction> out) const noexcept;

 private:
  UnitColumn offsets_, lengths_;
  HitRate rate_;
};

}  // namespace iotune::patterns
