#include "patterns/predict/baselines/unit_predictor.h"

#include <cstring>

namespace iotune::patterns {

bool UnitColumn::observe(std::int64_t value) noexcept {
  std::int64_t expected = 0;
  const bool right = predict(1, expected) && expected == value;
  if (count_ == kRecent) {
    count_ = kRecent / 2;
    std::memmove(recent_, recent_ + kRecent / 2, sizeof(std::int64_t) * count_);
  }
  recent_[count_++] = value;
  if (right) {
    if (++at_ == size_) at_ = 0;
    return true;
  }
  std::int64_t deltas[kRecent];
  Unit units[kRecent];
  const std::uint32_t n = count_ - 1;
  for (std::uint32_t i = 0; i < n; ++i) deltas[i] = minus(recent_[i + 1], recent_[i]);
  const std::size_t found = find_units({deltas, n}, {units, n});
  size_ = 0;
  if (found == 0) return false;
  const Unit& last = units[found - 1];
  size_ = last.size;
  at_ = 0;
  for (std::uint32_t i = 0; i < size_; ++i) walked_[i] = deltas[last.first + i];
  return false;
}

bool UnitColumn::predict(unsigned ahead, std::int64_t& value) const noexcept {
  if (size_ == 0) return false;
  value = recent_[count_ - 1];
  for (std::uint32_t at = at_; ahead > 0; --ahead) {
    value = plus(value, walked_[at]);
    if (++at == size_) at = 0;
  }
  return true;
}

void UnitPredictor::observe(Extent access) noexcept {
  const bool offset = offsets_.observe(access.offset);
  const bool length = lengths_.observe(access.length);
  rate_.saw(offset && length);
}

unsigned UnitPredictor::predict(std::span<Prediction> out) const noexcept {
  Confidence confidence(rate_.share());
  unsigned made = 0;
  for (Prediction& item : out) {
    if (!offsets_.predict(made + 1, item.extent.offset) ||
        !lengths_.predict(made + 1, item.extent.length)) {
      break;
    }
    item.confidence = confidence.next();
    ++made;
  }
  return made;
}

}  // namespace iotune::patterns
