// The numbers of one stream's calls on their way into an EVENTS block: as tuples, or, where many
// calls move by a stride, as runs (FORMAT.md, "Values of a stream"). Part of the preload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "patterns/bytes.h"

namespace iotune::recorder {

// FORMAT.md, first byte of the values.
inline constexpr std::uint8_t kValuesAsTuples = 0, kValuesAsRuns = 1;

// Calls in the order in which they were made, joined to runs as they come: `first`, then
// `stride` more with each of `calls`.
class RunBuilder {
 public:
  // `numbers`: at most kMostRepeatedWords. `memory`: a run takes 2 * numbers + 1 words, and no more
  // runs are made than calls or runs are added.
  // Of these `runs` are there already.
  RunBuilder(std::int64_t* memory, unsigned numbers, std::size_t runs = 0) noexcept
      : runs_(memory), numbers_(numbers), count_(runs) {}

  void add(const std::int64_t* first, const std::int64_t* stride, std::uint64_t calls) noexcept;

  std::size_t runs() const noexcept { return count_; }
  unsigned width() const noexcept { return 2 * numbers_ + 1; }

 private:
  std::int64_t* run(std::size_t index) const noexcept { return runs_ + index * width(); }
  bool goes_on(const std::int64_t* first) const noexcept;

  std::int64_t* runs_;  // calls, first[numbers], stride[numbers] of each
  unsigned numbers_;
  std::size_t count_;
};

}  // namespace iotune::recorder
