#include "patterns/predict/step_table.h"

#include <bit>
#include <cstring>

namespace iotune::patterns {

std::uint8_t StepTable::tag_of(const Step& step) noexcept {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(step.offset) + static_cast<std::uint64_t>(step.length) * 31u) *
      0x9e3779b97f4a7c15u;
  return static_cast<std::uint8_t>((mixed >> 56u & 0xf8u) | 4u | step.lane);
}

std::uint8_t StepTable::find(const Step& step) const noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  const std::uint64_t tags = tag_of(step) * kOnes;
  for (unsigned first = 0; first < kSteps; first += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, tags_ + first, 8);
    const std::uint64_t differ = eight ^ tags;
    // A bit 7 for each byte that is equal, and now and then for one above it: all are looked at.
    for (std::uint64_t hits = (differ - kOnes) & ~differ & (kOnes << 7u); hits != 0;
         hits &= hits - 1) {
      const auto byte = static_cast<unsigned>(std::countr_zero(hits)) / 8;
      const unsigned id = first + (std::endian::native == std::endian::little ? byte : 7 - byte);
      if (offsets_[id] == step.offset && lengths_[id] == step.length && tags_[id] != 0 &&
          (tags_[id] & 3u) == step.lane) {
        return static_cast<std::uint8_t>(id);
      }
    }
  }
  return kNoStep;
}

std::uint8_t StepTable::add(const Step& step) noexcept {
  unsigned id = 0;
  while (id < kSteps && tags_[id] != 0) ++id;
  if (id == kSteps) return kNoStep;
  offsets_[id] = step.offset;
  lengths_[id] = step.length;
  tags_[id] = tag_of(step);
  return static_cast<std::uint8_t>(id);
}

void StepTable::keep(std::uint32_t used) noexcept {
  for (unsigned id = 0; id < kSteps; ++id) {
    if ((used >> id & 1u) == 0) tags_[id] = 0;
  }
}

}  // namespace iotune::patterns
