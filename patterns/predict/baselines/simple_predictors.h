// The comparators that every storage stack has: a constant stride, and reading ahead.
#pragma once

#include <cstdint>
#include <span>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

// The next access is as far from the last as that from the one before, and as long.
class StridePredictor {
 public:
  void observe(Extent access) noexcept {
    Prediction next;
    rate_.saw(predict({&next, 1}) == 1 && next.extent == access);
    stride_ = minus(access.offset, last_.offset);
    last_ = access;
    if (seen_ < 2) ++seen_;
  }
  unsigned predict(std::span<Prediction> out) const noexcept {
    if (seen_ < 2) return 0;
    Confidence confidence(rate_.share());
    Extent next = last_;
    for (Prediction& item : out) {
      next.offset = plus(next.offset, stride_);
      item = {next, confidence.next()};
    }
    return static_cast<unsigned>(out.size());
  }

 private:
  Extent last_ = {};
  std::int64_t stride_ = 0;
  HitRate rate_;
  std::uint8_t seen_ = 0;
};

// The next access begins where the last one ended, and is as long.
class ReadaheadPredictor {
 public:
  void observe(Extent access) noexcept {
    rate_.saw(seen_ && access.offset == plus(last_.offset, last_.length) &&
              access.length == last_.length);
    last_ = access;
    seen_ = true;
  }
  unsigned predict(std::span<Prediction> out) const noexcept {
    if (!seen_) return 0;
    Confidence confidence(rate_.share());
    Extent next = last_;
    for (Prediction& item : out) {
      next.offset = plus(next.offset, next.length);
      item = {next, confidence.next()};
    }
    return static_cast<unsigned>(out.size());
  }

 private:
  Extent last_ = {};
  HitRate rate_;
  bool seen_ = false;
};

}  // namespace iotune::patterns
