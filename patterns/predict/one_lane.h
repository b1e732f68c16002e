// A stream that is one sequence of accesses, each a step from the one before. Internal to
// patterns/predict.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"
#include "patterns/predict/step_loops.h"
#include "patterns/predict/step_table.h"

namespace iotune::patterns {

// What is predicted, and by which step; kNoStep: it is guessed.
struct Next {
  Extent access = {};
  std::uint8_t step = kNoStep;
  bool waiting = false;  // what is held back waits for the next access to tell what it was
};

class OneLane {
 public:
  // `access` is what was predicted by next.step.
  void take(const Extent& access, const StepTable& steps, Next& next) noexcept {
    if (streak_ < kMostSure) ++streak_;
    const bool back = slipped_ != 0 && is_back(access, steps);
    move_to(access);
    loops_.feed(next.step, false);
    if (back) loops_.follow_mark();
    expect(steps, next);
  }
  // Any other. False if it seems that several sequences take turns in the stream.
  bool observe(const Extent& access, StepTable& steps, Next& next) noexcept;

  // Then: where they are, the one first whose turn it was last, then in the order in which they
  // come next. Fills 2 or more of `at`, which has room for 2 at least; returns how many.
  unsigned turns(std::span<Extent> at) const noexcept;

  unsigned predict(const StepTable& steps, const Next& next, Confidence confidence,
                   std::span<Prediction> out) const noexcept;

 private:
  static constexpr unsigned kSurprises = 12;
  // After so many right in succession a surprise may be noise; and so often at the most.
  static constexpr std::uint8_t kSure = 4, kMostSure = 16;
  static constexpr std::uint8_t kLongestSlip = 4;  // accesses

  void move_to(const Extent& access) noexcept {
    stride_ = minus(access.offset, last_.offset);
    last_ = access;
    if (seen_ < 2) ++seen_;
  }
  void expect(const StepTable& steps, Next& next) const noexcept {
    next.step = loops_.expected();
    if (next.step == kNoStep) next.step = loops_.usual();
    if (next.step == kNoStep) return guess(next);
    next.access = steps.after(last_, next.step);
  }
  void guess(Next& next) const noexcept;
  void learn(const Extent& access, StepTable& steps, Next& next) noexcept;
  bool usual(const Extent& access, const Extent& wanted) const noexcept;
  void hold(const Extent& access, const StepTable& steps, Next& next) noexcept;
  void slip(const Extent& access, const Extent& wanted) noexcept;
  bool is_back(const Extent& access, const StepTable& steps) noexcept;
  bool settle(const Extent& access, StepTable& steps, Next& next) noexcept;
  std::uint8_t new_step(const Extent& access, StepTable& steps) noexcept;
  unsigned surprised(const Extent& access, unsigned least) noexcept;
  Extent surprise(unsigned back) const noexcept;

  StepLoops<kOneLaneBytes, kOneLaneTerms> loops_;
  std::uint8_t seen_ = 0;     // at most 2
  std::uint8_t streak_ = 0;   // predictions right in succession, less what was held back
  std::uint8_t slipped_ = 0;  // accesses for which the mark of loops_ is still looked at
  Extent last_ = {};
  // So many as held_count_, if next.waiting; else, if slipped_, the first one's offset is how far
  // what is read lies before where the past would have it.
  Extent held_[2] = {};
  std::int64_t stride_ = 0;
  // Accesses that came by a step that was new.
  std::int64_t surprise_offset_[kSurprises] = {};
  std::uint32_t surprise_length_[kSurprises] = {};
  std::uint8_t surprises_ = 0;    // at most kSurprises
  std::uint8_t surprise_at_ = 0;  // where the next one is put
  std::uint8_t lanes_ = 1;        // that turns() begins with
  bool held_between_ = false;     // then: beside this one, they are what was held back
  std::uint8_t held_count_ = 0;
  // >= 0: what was held back was noise more often than not; of an unusual length, and of a usual
  // one. Until it is known, what is unusual is taken for noise.
  std::int8_t noise_[2] = {0, -1};
  std::int8_t sequential_ = 0;  // > 0: a better guess than a constant stride
};

}  // namespace iotune::patterns
