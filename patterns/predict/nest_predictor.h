// Predicts the accesses of nested loops while they run: README.md explains how.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/one_lane.h"
#include "patterns/predict/prediction.h"
#include "patterns/predict/step_table.h"
#include "patterns/predict/turn_lanes.h"

namespace iotune::patterns {

class NestPredictor {
 public:
  NestPredictor() noexcept : one_() {}

  void observe(Extent access) noexcept {
    const bool right = access == next_.access;
    rate_.saw(right);
    if (!right || next_.step == kNoStep || next_.waiting) return observe_other(access);
    if (in_turns_) {
      turns_.take(access, steps_, next_);
    } else {
      one_.take(access, steps_, next_);
    }
  }

  // Whether predict() would say `access` first: what a reader asks of each access, in 2 ns.
  bool expects(const Extent& access) const noexcept { return begun_ && access == next_.access; }

  // Fills `out` from its front; returns how many it could.
  unsigned predict(std::span<Prediction> out) const noexcept;
  // Of the last some sixteen accesses: the share that was predicted.
  float share() const noexcept { return rate_.share(); }

 private:
  void observe_other(const Extent& access) noexcept;

  StepTable steps_;
  union {
    OneLane one_;
    TurnLanes turns_;
  };
  Next next_;
  HitRate rate_;
  bool in_turns_ = false;
  bool begun_ = false;
};

static_assert(sizeof(NestPredictor) <= 808, "with the rest of a stream's state 1,024");

}  // namespace iotune::patterns
