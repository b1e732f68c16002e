// Up to 16 sequences that take turns, each at a stride of its own.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// Of m sequences in turn each access lies as far from the one m before it as that one from the one
// before that. Which m says so most often of late is taken.
class TurnStrides {
 public:
  void observe(const Extent& access) noexcept {
    rate_.saw(expects(access));
    for (unsigned m = 1; m <= kMost && 2 * m <= seen_; ++m) {
      std::uint8_t& hits = hits_[m - 1];
      if (access == by(m)) {
        if (hits < kSure) ++hits;
      } else {
        hits /= 2;
      }
    }
    last_[next_++ % (2 * kMost)] = access;
    if (seen_ < 2 * kMost) ++seen_;
    period_ = 0;
    for (unsigned m = 1; m <= kMost && 2 * m <= seen_; ++m) {
      if (hits_[m - 1] > (period_ == 0 ? 0 : hits_[period_ - 1])) period_ = m;
    }
  }
  // Whether predict() would say `access` first.
  bool expects(const Extent& access) const noexcept {
    return period_ != 0 && access == by(period_);
  }

  // Fills `out` from its front; returns how many it could: as many as take turns.
  unsigned predict(std::span<Prediction> out) const noexcept {
    Confidence confidence(rate_.share());
    unsigned filled = 0;
    for (; filled < period_ && filled < out.size(); ++filled) {
      out[filled] = {by(period_, filled), confidence.next()};
    }
    return filled;
  }
  float share() const noexcept { return rate_.share(); }

 private:
  static constexpr unsigned kMost = 16;
  static constexpr std::uint8_t kSure = 64;

  const Extent& before(unsigned back) const noexcept { return last_[(next_ - back) % (2 * kMost)]; }
  // What comes `ahead` accesses behind the next one.
  Extent by(unsigned m, unsigned ahead = 0) const noexcept {
    const Extent& one = before(m - ahead);
    const Extent& earlier = before(2 * m - ahead);
    return {plus(one.offset, minus(one.offset, earlier.offset)), one.length};
  }

  Extent last_[2 * kMost] = {};
  std::uint32_t next_ = 0;
  std::uint8_t hits_[kMost] = {};
  unsigned seen_ = 0, period_ = 0;
  HitRate rate_;
};

}  // namespace iotune::patterns
