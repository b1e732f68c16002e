#include "patterns/predict/turn_lanes.h"

#include <algorithm>
#include <bit>

namespace iotune::patterns {

TurnLanes::TurnLanes(std::span<const Extent> at) noexcept
    : count_(static_cast<std::uint8_t>(at.size())) {
  for (unsigned lane = 0; lane < at.size(); ++lane) lanes_[lane].last = at[lane];
  order_.feed(0, false);
}

// What right predictions change is asked for at a surprise alone.
void TurnLanes::count_right() noexcept {
  const auto up = [this](std::uint8_t& value, unsigned most) noexcept {
    value = static_cast<std::uint8_t>(std::min(value + unsigned{right_}, most));
  };
  const auto down = [this](std::uint8_t& value, unsigned each) noexcept {
    value = static_cast<std::uint8_t>(value - std::min(unsigned{value}, each * right_));
  };
  up(patience_, kPatience);
  up(order_right_, kMostOrderRight);
  down(strange_, 1);
  down(misses_, kRight);
  right_ = 0;
}

bool TurnLanes::observe(const Extent& access, StepTable& steps, Next& next) noexcept {
  count_right();
  if (next.waiting) {
    next.waiting = false;
    if (settle(access, steps, next)) return true;
  }
  if (next.step != kNoStep && access == next.access) {
    take(access, steps, next);
    return true;
  }
  if (misses_ >= kMuch || turn_length_ >= kLongTurn) return false;
  ++misses_;
  std::uint8_t step = kNoStep;
  if (next.step != kNoStep && patience_ >= kNoiseCosts &&
      (order_right_ >= kSure || !usual(access)) && lanes_[lane_of(access)].step != kNoStep &&
      !known(access, steps, step)) {
    hold(access, steps, next);
  } else {
    learn(access, steps, next);
  }
  return true;
}

// The step that it is for one of the lanes; what a lane was expected to do comes first, and the
// lane whose turn it is.
bool TurnLanes::known(const Extent& access, const StepTable& steps,
                      std::uint8_t& step) const noexcept {
  for (unsigned i = 0; i < count_; ++i) {
    const Lane& lane = lanes_[(turn_ + i) % count_];
    step = lane.expected();
    if (step != kNoStep && access == steps.after(lane.last, step)) return true;
  }
  for (unsigned i = 0; i < count_; ++i) {
    const auto lane = static_cast<std::uint8_t>((turn_ + i) % count_);
    step = steps.find(lanes_[lane].last, access, lane);
    if (step != kNoStep) return true;
  }
  return false;
}

// Whether it is a step that the lane whose turn it is has made before.
bool TurnLanes::known_of_turn(const Extent& access, const StepTable& steps) const noexcept {
  std::uint8_t step = kNoStep;
  return known(access, steps, step) && steps.lane(step) == turn_;
}

bool TurnLanes::usual(const Extent& access) const noexcept {
  for (unsigned lane = 0; lane < count_; ++lane) {
    if (access.length == lanes_[lane].last.length) return true;
  }
  return false;
}

// Whose turn it is after the next access, or kNoStep.
std::uint8_t TurnLanes::turn_after() const noexcept {
  typename decltype(order_)::Walk order(order_);
  order.next();
  return order.next();
}

// Noise, or something new in the lane whose turn it is.
void TurnLanes::hold(const Extent& access, const StepTable& steps, Next& next) noexcept {
  next.waiting = true;
  held_[0] = access;
  held_count_ = 1;
  if (noise_[usual(access) ? 1 : 0] >= 0) return;
  const std::uint8_t then = turn_after();
  if (then == kNoStep) return;
  const Lane& lane = lanes_[then];
  if (then != turn_) {
    const std::uint8_t step = lane.expected();
    if (step != kNoStep) next.access = steps.after(lane.last, step);
  } else if (const std::uint8_t first = lane.loops.first_of_open(); first != kNoStep) {
    next.access = steps.after(access, first);
  }
}

// True if `access` is dealt with: it shows that what was held back was noise, or is held back as
// well. False if it is yet to be observed.
bool TurnLanes::settle(const Extent& access, StepTable& steps, Next& next) noexcept {
  constexpr int kMost = 3;
  const bool is_usual = usual(held_[0]);
  std::int8_t& noise = noise_[is_usual ? 1 : 0];
  const Extent wanted = steps.after(lanes_[turn_].last, next.step);
  if (access == wanted) {
    if (noise < kMost) ++noise;
    patience_ = static_cast<std::uint8_t>(patience_ - kNoiseCosts);
    take(access, steps, next);
    return true;
  }
  const std::uint8_t then = turn_after();
  const std::uint8_t after = then == kNoStep || then == turn_ ? kNoStep : lanes_[then].expected();
  const bool next_turn = after != kNoStep && access == steps.after(lanes_[then].last, after);
  const std::uint8_t lane = lane_of(held_[0]);
  if (next_turn) {
    // One was the turn's; the other, if there are two, noise.
    if (held_count_ == 2 && !is_usual) held_[0] = held_[1];
    held_count_ = 1;
  } else if (steps.find(held_[held_count_ - 1], access, lane) == kNoStep) {
    next.access = wanted;
    // Noise before the end of a row that was not foreseen.
    if (known_of_turn(access, steps)) {
      if (noise < kMost) ++noise;
      return false;
    }
    // Two of one length begin something.
    std::uint8_t step = kNoStep;
    if (held_count_ == 1 && !is_usual && access.length != held_[0].length &&
        !known(access, steps, step)) {
      held_[held_count_++] = access;
      next.waiting = true;
      return true;
    }
  }
  if (noise > -kMost) --noise;
  learn_new(lane, held_[0], steps, next);
  if (held_count_ == 2) learn(held_[1], steps, next);
  return false;
}

// What nobody expected: a step that some lane has made before, or a new one.
void TurnLanes::learn(const Extent& access, StepTable& steps, Next& next) noexcept {
  std::uint8_t step = kNoStep;
  if (!known(access, steps, step)) return learn_new(lane_of(access), access, steps, next);
  if (steps.lane(step) != turn_) doubt_order();
  move(steps.lane(step), access, step, false);
  expect(steps, next);
}

void TurnLanes::learn_new(std::uint8_t lane, const Extent& access, StepTable& steps,
                          Next& next) noexcept {
  doubt_order();
  const std::uint8_t unused = unused_lane(lane);
  if (unused != kNoStep) {
    lanes_[unused] = {};
    lanes_[unused].last = access;
    order_.clear();
    order_.feed(unused, false);
    order_right_ = 0;
    current_ = unused;
    return expect(steps, next);
  }
  const std::uint8_t step = new_step(lane, access, steps);
  if (step == kNoStep) {
    lanes_[lane].loops.clear();
    lanes_[lane].last = access;
    order_.feed(lane, false);
    current_ = lane;
  } else {
    move(lane, access, step, true);
  }
  expect(steps, next);
}

// Another than `lane`, if new steps do not end: then two sequences are in one lane. One that has
// not moved for long, or another one; kNoStep if there is none, or no need.
std::uint8_t TurnLanes::unused_lane(std::uint8_t lane) noexcept {
  std::uint8_t unused = kNoStep;
  for (std::uint8_t other = 0; other < count_; ++other) {
    if (other == lane) continue;
    if (lanes_[other].idle < kIdle) {
      ++lanes_[other].idle;
    } else {
      unused = other;
    }
  }
  strange_ = static_cast<std::uint8_t>(strange_ + (unused == kNoStep ? kStrange : kStrangeUnused));
  if (strange_ < kTooStrange) return kNoStep;
  strange_ = 0;
  return unused == kNoStep && count_ < kLanes ? count_++ : unused;
}

// Whose access it is, if it is no step that any lane has made and the order is in doubt: near to
// where a lane was, as long as what the lane had, and when it is its turn.
std::uint8_t TurnLanes::nearest_lane(const Extent& access) const noexcept {
  constexpr int kOtherLength = 5, kTurn = 4;  // in powers of two of the distance
  std::uint8_t best = turn_;
  int best_cost = 0;
  for (std::uint8_t lane = 0; lane < count_; ++lane) {
    const Extent& last = lanes_[lane].last;
    const std::int64_t way = minus(access.offset, last.offset);
    const auto distance = static_cast<std::uint64_t>(way < 0 ? minus(0, way) : way);
    const int cost = static_cast<int>(std::bit_width(distance)) +
                     (access.length == last.length ? 0 : kOtherLength) -
                     (lane == turn_ ? kTurn : 0);
    if (lane == 0 || cost < best_cost) {
      best = lane;
      best_cost = cost;
    }
  }
  return best;
}

std::uint8_t TurnLanes::new_step(std::uint8_t lane, const Extent& access,
                                 StepTable& steps) noexcept {
  Step step{};
  if (!StepTable::between(lanes_[lane].last, access, lane, step)) return kNoStep;
  std::uint8_t id = steps.add(step);
  for (int attempt = 0; id == kNoStep && attempt < 3; ++attempt) {
    for (unsigned one = 0; one < count_; ++one) {
      if (attempt == 1) lanes_[one].loops.drop_oldest();
      if (attempt == 2) lanes_[one].loops.clear();
    }
    keep_used(steps);
    id = steps.add(step);
  }
  return id;
}

void TurnLanes::keep_used(StepTable& steps) const noexcept {
  std::uint32_t used = 0;
  for (unsigned lane = 0; lane < count_; ++lane) {
    used |= lanes_[lane].loops.steps_used();
    if (lanes_[lane].step != kNoStep) used |= 1u << lanes_[lane].step;
  }
  steps.keep(used);
}

unsigned TurnLanes::predict(const StepTable& steps, const Next& next, Confidence confidence,
                            std::span<Prediction> out) const noexcept {
  if (out.empty()) return 0;
  const Extent wanted =
      next.step == kNoStep ? next.access : steps.after(lanes_[turn_].last, next.step);
  if (!(next.access == wanted) || next.step == kNoStep) {
    out[0] = {next.access, confidence.next()};
    return 1;
  }
  using LaneWalk = typename decltype(Lane::loops)::Walk;
  LaneWalk walks[kLanes] = {LaneWalk(lanes_[0].loops), LaneWalk(lanes_[1].loops),
                            LaneWalk(lanes_[2].loops)};
  Extent at[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) at[lane] = lanes_[lane].last;
  typename decltype(order_)::Walk order(order_);
  unsigned made = 0;
  for (std::uint8_t turn = turn_; made < out.size(); ++made) {
    const std::uint8_t ordered = order.next();
    if (made > 0) turn = ordered;
    if (turn == kNoStep) break;
    std::uint8_t step = walks[turn].next();
    if (step == kNoStep) step = lanes_[turn].step;
    if (step == kNoStep) break;
    at[turn] = steps.after(at[turn], step);
    out[made] = {at[turn], confidence.next()};
  }
  return made;
}

}  // namespace iotune::patterns
