// Tells noise from the accesses that it came between, also where it is so frequent that no loop
// was found whole yet: a predictor follows the past from the second row on.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "analyzer/pattern_log/shapes.h"
#include "patterns/predict/nest_predictor.h"

namespace iotune::analyzer::pattern_log {

class NoiseSieve {
 public:
  // Calls regular(access) or noise(accesses) for every access, in their order; the last few are
  // held back until those that follow tell what they were.
  template <class Regular, class Noise>
  void add(const Extent& access, Regular regular, Noise noise) {
    if (held_count_ > 0 && access == wanted_) {
      noise(held());
      held_count_ = 0;
      predictor_ = before_;
    }
    if (predictor_.expects(access)) {
      // Those held back began something.
      release(regular);
      predictor_.observe(access);
      return regular(access);
    }
    if (held_count_ == held_.size()) release(regular);
    if (held_count_ == 0) {
      patterns::Prediction next;
      if (predictor_.predict({&next, 1}) == 0) {
        predictor_.observe(access);
        return regular(access);
      }
      wanted_ = next.extent;
      before_ = predictor_;
    }
    held_[held_count_++] = access;
    predictor_.observe(access);
  }
  template <class Regular>
  void release(Regular regular) {
    for (const Extent& access : held()) regular(access);
    held_count_ = 0;
  }

 private:
  std::span<const Extent> held() const noexcept { return {held_.data(), held_count_}; }

  patterns::NestPredictor predictor_;
  patterns::NestPredictor before_;  // as it was when nothing was held back
  Extent wanted_{};                 // what would show that those held back are noise
  std::array<Extent, 2> held_{};
  std::size_t held_count_ = 0;
};

}  // namespace iotune::analyzer::pattern_log
