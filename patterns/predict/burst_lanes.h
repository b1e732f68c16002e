// Sequences that take turns in bursts: each goes on at its own stride where it was left.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// An access that is none of the present sequence's is the next one of another that was met before,
// or begins a new one. How many accesses a burst had, and who came behind it, is expected again.
class BurstLanes {
 public:
  void observe(const Extent& access) noexcept {
    rate_.saw(expects(access));
    take(access);
  }
  // Whether predict() would say `access` first.
  bool expects(const Extent& access) const noexcept {
    Extent next;
    return says(next) && next == access;
  }
  // Fills `out` from its front; returns how many it could.
  unsigned predict(std::span<Prediction> out) const noexcept {
    Confidence confidence(rate_.share());
    BurstLanes ahead = *this;
    unsigned filled = 0;
    for (Extent next; filled < out.size() && ahead.says(next); ++filled) {
      out[filled] = {next, confidence.next()};
      ahead.take(next);
    }
    return filled;
  }
  float share() const noexcept { return rate_.share(); }

 private:
  static constexpr unsigned kMost = 16;
  static constexpr std::uint8_t kNone = 0xff;

  struct Lane {
    Extent last;
    std::int64_t stride;
    std::uint32_t run, usual;  // accesses of its present or last burst, and of the one before
    std::uint32_t met;         // when its burst began, in bursts
    std::uint8_t then;         // who came behind its last burst
    bool moves;                // its stride is known
    Extent next() const noexcept { return {plus(last.offset, stride), last.length}; }
  };

  bool says(Extent& next) const noexcept {
    if (count_ == 0) return false;
    const Lane& now = lanes_[current_];
    const bool is_over = now.usual != 0 && now.run >= now.usual && now.then != kNone;
    const Lane& lane = is_over ? lanes_[now.then] : now;
    next = lane.next();
    return lane.moves;
  }

  void take(const Extent& access) noexcept {
    if (count_ == 0) return begin(access);
    Lane& now = lanes_[current_];
    if (now.moves && access == now.next()) {
      ++now.run;
      now.last = access;
      return;
    }
    for (unsigned i = 0; i < count_; ++i) {
      if (i == current_ || !lanes_[i].moves || lanes_[i].next() != access) continue;
      leave(static_cast<std::uint8_t>(i));
      lanes_[i].last = access;
      return;
    }
    // A sequence's second access says its stride.
    if (!now.moves && access.length == now.last.length) {
      now.stride = minus(access.offset, now.last.offset);
      now.moves = true;
      ++now.run;
      now.last = access;
      return;
    }
    begin(access);
  }

  void begin(const Extent& access) noexcept {
    unsigned at = count_ < kMost ? count_ : 0;
    if (count_ < kMost) {
      ++count_;
    } else {
      // The one that was left the longest ago.
      for (unsigned i = 1; i < kMost; ++i) {
        if (lanes_[i].met < lanes_[at].met) at = i;
      }
      if (at == current_) at = (at + 1) % kMost;
      for (Lane& lane : lanes_) lane.then = lane.then == at ? kNone : lane.then;
    }
    lanes_[at] = {
        .last = access, .stride = 0, .run = 0, .usual = 0, .met = 0, .then = kNone, .moves = false};
    leave(static_cast<std::uint8_t>(at));
  }

  // The present burst is over, and one of another lane begins.
  void leave(std::uint8_t to) noexcept {
    Lane& now = lanes_[current_];
    now.usual = now.run;
    now.then = to;
    current_ = to;
    lanes_[to].run = 1;
    lanes_[to].met = ++bursts_;
  }

  Lane lanes_[kMost] = {};
  std::uint32_t bursts_ = 0;
  std::uint8_t count_ = 0, current_ = 0;
  HitRate rate_;
};

}  // namespace iotune::patterns
