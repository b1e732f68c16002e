// What every predictor returns, and how it knows how far to trust itself.
#pragma once

#include <cstdint>

#include "patterns/extent.h"

namespace iotune::patterns {

struct Prediction {
  Extent extent;
  float confidence;  // 0 to 1: how often a prediction that far ahead has been right of late
};

// The share of the last some sixteen predictions that were right.
class HitRate {
 public:
  void saw(bool right) noexcept {
    if (right) {
      rate_ = static_cast<std::uint16_t>(rate_ + ((0xffffu - rate_ + 15u) >> 4u));
    } else {
      rate_ = static_cast<std::uint16_t>(rate_ - (rate_ >> 4u));
    }
  }
  float share() const noexcept { return static_cast<float>(rate_) / 65535.0F; }

 private:
  std::uint16_t rate_ = 0;
};

// Confidence of the predictions after the first: what goes wrong once is wrong from there on.
class Confidence {
 public:
  explicit Confidence(float first) noexcept : share_(first), keep_(1.0F - (1.0F - first) / 4.0F) {}
  float next() noexcept {
    const float share = share_;
    share_ *= keep_;
    return share;
  }

 private:
  float share_, keep_;
};

constexpr std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace iotune::patterns
