// Predicts by the past itself: where the same steps were made before, what came then comes now.
//
// For loops of more steps than NestPredictor keeps, and for places that are read again in the same
// order. Delta correlation (Nesbit and Smith, HPCA 2004) over the last 5,000 steps: the longest of
// the contexts of 4, 2 and 1 steps that was met before says where to follow.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

class HistoryPredictor {
 public:
  void observe(const Extent& access) noexcept;
  // Whether predict() would say `access` first.
  bool expects(const Extent& access) const noexcept { return follows() && next() == access; }
  // Fills `out` from its front; returns how many it could.
  unsigned predict(std::span<Prediction> out) const noexcept;
  float share() const noexcept { return rate_.share(); }

 private:
  // From one access to the next, in 8 bytes: the difference of the offsets, and which of kLengths.
  class Step {
   public:
    Step() noexcept = default;
    // A difference of 2^47 and more is cut, and what is predicted by it is wrong.
    Step(std::int64_t by, std::uint16_t length) noexcept
        : word_(static_cast<std::uint64_t>(by) << 16U | length) {}
    std::int64_t by() const noexcept { return static_cast<std::int64_t>(word_) >> 16U; }
    std::uint16_t length() const noexcept { return static_cast<std::uint16_t>(word_); }
    std::uint64_t word() const noexcept { return word_; }
    bool operator==(const Step&) const noexcept = default;

   private:
    std::uint64_t word_ = 0;
  };
  static constexpr std::uint32_t kSteps = 5100, kSlots = 1024, kLengths = 2048;
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  static constexpr unsigned kContexts[] = {4, 2, 1};

  bool follows() const noexcept { return follow_ != kNowhere; }
  Extent next() const noexcept { return waits_ ? missed_ : after(last_, steps_[follow_ % kSteps]); }
  Extent after(const Extent& access, const Step& step) const noexcept {
    return {plus(access.offset, step.by()), lengths_[step.length()]};
  }
  std::uint16_t length_of(std::int64_t length) noexcept;
  std::uint32_t slot_of(unsigned context) const noexcept;
  bool was_before(std::uint32_t at, unsigned context) const noexcept;
  void look_up() noexcept;

  Step steps_[kSteps];
  std::uint16_t places_[3][kSlots] = {};  // of each context, the step behind it, in the ring
  std::int64_t lengths_[kLengths] = {};
  std::uint32_t made_ = 0;           // steps in all; the ring has the last kSteps
  std::uint32_t follow_ = kNowhere;  // the step that is expected now
  Extent last_ = {};
  Extent missed_ = {};  // what was expected when something else came
  bool waits_ = false;  // for that: what came may have been an access more
  bool begun_ = false;
  HitRate rate_;
};

static_assert(sizeof(HistoryPredictor) <= 64 << 10U);

}  // namespace iotune::patterns
