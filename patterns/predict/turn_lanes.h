// Two or three sequences that take turns in one stream, each with loops of its own, and the order
// of the turns, which has loops too. Internal to patterns/predict.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/one_lane.h"
#include "patterns/predict/prediction.h"
#include "patterns/predict/step_loops.h"
#include "patterns/predict/step_table.h"

namespace iotune::patterns {

class TurnLanes {
 public:
  static constexpr unsigned kLanes = 3;

  // Where each of the 2 or 3 lanes is, in the order of their turns; lane 0 has just moved.
  explicit TurnLanes(std::span<const Extent> at) noexcept;

  // `access` is what was predicted by next.step.
  void take(const Extent& access, const StepTable& steps, Next& next) noexcept {
    if (streak_ < kMostSure) ++streak_;
    in_vain_ = in_vain_ < kRight ? std::uint8_t{0} : static_cast<std::uint8_t>(in_vain_ - kRight);
    move(steps.lane(next.step), access, next.step, false);
    expect(steps, next);
  }
  // Any other. False if this is a stream of several lanes no more.
  bool observe(const Extent& access, StepTable& steps, Next& next) noexcept;

  void expect(const StepTable& steps, Next& next) noexcept {
    turn_ = order_.expected();
    if (turn_ == kNoStep) turn_ = static_cast<std::uint8_t>((current_ + 1) % count_);
    const Lane& lane = lanes_[turn_];
    next.step = lane.expected();
    next.access = next.step == kNoStep ? lane.last : steps.after(lane.last, next.step);
  }

  unsigned predict(const StepTable& steps, const Next& next, Confidence confidence,
                   std::span<Prediction> out) const noexcept;

 private:
  // After so many right in succession a surprise may be noise; and so often at the most.
  static constexpr std::uint8_t kSure = 4, kMostSure = 16;
  static constexpr std::uint8_t kRight = 4, kMuch = 48;  // see in_vain_
  static constexpr std::uint8_t kLongTurn = 64;          // accesses

  struct Lane {
    StepLoops<kLaneBytes, kLaneTerms> loops;
    std::uint8_t step = kNoStep;  // the last one
    Extent last = {};

    std::uint8_t expected() const noexcept {
      const std::uint8_t next = loops.expected();
      return next == kNoStep ? step : next;
    }
  };

  void move(std::uint8_t lane, const Extent& access, std::uint8_t step, bool is_new) noexcept {
    Lane& moved = lanes_[lane];
    moved.last = access;
    moved.step = step;
    moved.loops.feed(step, is_new);
    order_.feed(lane, false);
    if (lane != current_) {
      turn_length_ = 0;
    } else if (turn_length_ < kLongTurn) {
      ++turn_length_;
    }
    current_ = lane;
  }
  bool settle(const Extent& access, StepTable& steps, Next& next) noexcept;
  bool known(const Extent& access, const StepTable& steps, std::uint8_t& step) const noexcept;
  void hold(const Extent& access, const StepTable& steps, Next& next) noexcept;
  void learn(const Extent& access, StepTable& steps, Next& next) noexcept;
  std::uint8_t likely_lane(const Extent& access) const noexcept;
  std::uint8_t new_step(std::uint8_t lane, const Extent& access, StepTable& steps) noexcept;
  void keep_used(StepTable& steps) const noexcept;

  Lane lanes_[kLanes];
  StepLoops<kOrderBytes, kOrderTerms> order_;  // its steps are lanes
  Extent held_ = {};                           // if next.waiting
  std::uint8_t count_;
  std::uint8_t current_ = 0;  // whose turn it was last
  std::uint8_t turn_ = 0;     // whose turn is expected
  std::uint8_t turn_length_ = 0;
  std::uint8_t streak_ = 0;
  std::uint8_t in_vain_ = 0;  // up by a wrong prediction, down by kRight for a right one
  std::int8_t noise_ = -1;    // >= 0: what was held back was noise more often than not
};

}  // namespace iotune::patterns
