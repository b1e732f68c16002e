// NestPredictor, and where it is wrong too often three others: whichever was right most often of
// late.
#pragma once

#include <new>
#include <span>

#include "patterns/predict/burst_lanes.h"
#include "patterns/predict/history_predictor.h"
#include "patterns/predict/nest_predictor.h"
#include "patterns/predict/turn_strides.h"

namespace iotune::patterns {

class BestPredictor {
 public:
  BestPredictor() noexcept {}
  // Goes on with what the loops of a stream are so far.
  explicit BestPredictor(const NestPredictor& nest) noexcept : nest_(nest) {}

  void observe(const Extent& access) noexcept {
    nest_rate_.saw(nest_.expects(access));
    nest_.observe(access);
    // What loops explain needs nothing else.
    if (nest_rate_.share() < kSure) {
      if (idle_ >= kForget) new (&history_) HistoryPredictor;
      idle_ = 0;
    } else if (idle_ < kForget) {
      ++idle_;
    }
    if (idle_ == kForget) return;
    history_.observe(access);
    turns_.observe(access);
    bursts_.observe(access);
  }

  unsigned predict(std::span<Prediction> out) const noexcept {
    const float nest = nest_rate_.share() + kMargin;
    const float history = history_.share(), turns = turns_.share(), bursts = bursts_.share();
    unsigned filled = 0;
    if (idle_ < kForget) {
      if (bursts > nest && bursts > history && bursts > turns) filled = bursts_.predict(out);
      if (filled == 0 && turns > nest && turns > history) filled = turns_.predict(out);
      if (filled == 0 && history > nest) filled = history_.predict(out);
    }
    return filled != 0 ? filled : nest_.predict(out);
  }

 private:
  static constexpr float kSure = 0.9F;
  static constexpr float kMargin = 0.03F;   // so much better another one must be
  static constexpr unsigned kForget = 256;  // accesses in succession

  NestPredictor nest_;
  HistoryPredictor history_;
  TurnStrides turns_;
  BurstLanes bursts_;
  HitRate nest_rate_;
  unsigned idle_ = 0;  // so long has nest_ been right often enough
};

static_assert(sizeof(BestPredictor) <= 64 << 10U);

}  // namespace iotune::patterns
