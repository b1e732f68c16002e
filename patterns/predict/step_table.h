// Steps: what an access adds to the one before it in its lane, by a number of one byte each, so
// that a sequence of accesses becomes a sequence of bytes. Internal to patterns/predict.
#pragma once

#include <cstdint>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns {

inline constexpr std::uint8_t kNoStep = 0xff;

// A lane is one of several sequences that take turns in a stream; most streams have one.
struct Step {
  std::uint8_t lane;
  std::int32_t length;  // bytes
  std::int64_t offset;  // bytes
};

class StepTable {
 public:
  static constexpr unsigned kSteps = 24;
  static_assert(kSteps % 8 == 0 && kSteps <= 32);

  // The step from one access to another, as a number; kNoStep if it is not there.
  std::uint8_t find(const Extent& from, const Extent& to, std::uint8_t lane) const noexcept {
    Step step{};
    return between(from, to, lane, step) ? find(step) : kNoStep;
  }
  // False where the lengths differ by 2 GiB or more: such a step cannot be stored.
  static bool between(const Extent& from, const Extent& to, std::uint8_t lane,
                      Step& step) noexcept {
    const std::int64_t length = minus(to.length, from.length);
    step = {lane, static_cast<std::int32_t>(length), minus(to.offset, from.offset)};
    return step.length == length;
  }
  Extent after(const Extent& access, std::uint8_t id) const noexcept {
    return {plus(access.offset, offsets_[id]), plus(access.length, lengths_[id])};
  }

  // kNoStep if it is not there.
  std::uint8_t find(const Step& step) const noexcept;
  // kNoStep if the table is full.
  std::uint8_t add(const Step& step) noexcept;
  // Bit i: step i stays.
  void keep(std::uint32_t used) noexcept;

  std::uint8_t lane(std::uint8_t id) const noexcept {
    return static_cast<std::uint8_t>(tags_[id] & 3u);
  }

 private:
  // The lane in the low bits, above them a hash that is not zero; zero: no step.
  static std::uint8_t tag_of(const Step& step) noexcept;

  std::int64_t offsets_[kSteps] = {};
  std::int32_t lengths_[kSteps] = {};
  std::uint8_t tags_[kSteps] = {};
};

}  // namespace iotune::patterns
