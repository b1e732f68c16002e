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
    if (right_ < 0xff) ++right_;
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
  static constexpr std::uint8_t kRight = 4, kMuch = 48;  // see misses_
  static constexpr std::uint8_t kLongTurn = 64;          // accesses
  // Of patience_: what noise costs, and what there is when there was none for long.
  static constexpr std::uint8_t kNoiseCosts = 8, kPatience = 32;
  // Of order_right_: from when on a surprise of a usual length may be noise, and whose turn it is
  // says whose access it is; what is taken off where the order was wrong.
  static constexpr std::uint8_t kSure = 4, kOrderSure = 8, kMostOrderRight = 16, kOrderWrong = 4;
  static constexpr std::uint8_t kStrange = 4, kStrangeUnused = 16,
                                kTooStrange = 40;  // see strange_
  static constexpr std::uint8_t kIdle = 8;         // see Lane::idle

  struct Lane {
    StepLoops<kLaneBytes, kLaneTerms> loops;
    std::uint8_t step = kNoStep;  // the last one
    std::uint8_t idle = 0;        // new steps of others since it moved, kIdle at the most
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
    moved.idle = 0;
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
  bool known_of_turn(const Extent& access, const StepTable& steps) const noexcept;
  bool usual(const Extent& access) const noexcept;
  std::uint8_t turn_after() const noexcept;
  void hold(const Extent& access, const StepTable& steps, Next& next) noexcept;
  void learn(const Extent& access, StepTable& steps, Next& next) noexcept;
  void learn_new(std::uint8_t lane, const Extent& access, StepTable& steps, Next& next) noexcept;
  std::uint8_t unused_lane(std::uint8_t lane) noexcept;
  void count_right() noexcept;
  void doubt_order() noexcept {
    order_right_ =
        order_right_ > kOrderWrong ? static_cast<std::uint8_t>(order_right_ - kOrderWrong) : 0;
  }
  std::uint8_t lane_of(const Extent& access) const noexcept {
    return order_right_ >= kOrderSure ? turn_ : nearest_lane(access);
  }
  std::uint8_t nearest_lane(const Extent& access) const noexcept;
  std::uint8_t new_step(std::uint8_t lane, const Extent& access, StepTable& steps) noexcept;
  void keep_used(StepTable& steps) const noexcept;

  Lane lanes_[kLanes];
  Extent held_[2] = {};                        // so many as held_count_, if next.waiting
  StepLoops<kOrderBytes, kOrderTerms> order_;  // its steps are lanes
  std::uint8_t held_count_ = 0;
  std::uint8_t count_;
  std::uint8_t current_ = 0;  // whose turn it was last
  std::uint8_t turn_ = 0;     // whose turn is expected
  std::uint8_t turn_length_ = 0;
  std::uint8_t right_ = 0;        // predictions since the last surprise
  std::uint8_t misses_ = 0;       // up by a wrong prediction, down by kRight for a right one
  std::uint8_t order_right_ = 0;  // up by a right prediction, down by kOrderWrong
  std::uint8_t strange_ = 0;      // up by a new step, down by a right prediction
  // Down by kNoiseCosts for what was noise, up by a right prediction: what is so frequent as to
  // use it up is learned.
  std::uint8_t patience_ = kPatience;
  // >= 0: what was held back was noise more often than not; of an unusual length, and of a usual
  // one. Until it is known, what is unusual is taken for noise.
  std::int8_t noise_[2] = {0, -1};
};

}  // namespace iotune::patterns
