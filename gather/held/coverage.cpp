#include "gather/held/coverage.h"

namespace iotune::gather {

std::uint64_t mark(std::int64_t offset) noexcept {
  // The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): each bit depends on all.
  std::uint64_t word = static_cast<std::uint64_t>(offset) + 0x9e3779b97f4a7c15U;
  word = (word ^ word >> 30U) * 0xbf58476d1ce4e5b9U;
  word = (word ^ word >> 27U) * 0x94d049bb133111ebU;
  return word ^ word >> 31U;
}

std::uint64_t steps_of(const Ascending& pieces) noexcept {
  std::uint64_t steps = 0;
  for (const Run& run : pieces.runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t offset = run.offset + i * run.stride;
      steps += mark(offset) - mark(offset + run.bytes);
    }
  }
  return steps;
}

}  // namespace iotune::gather
