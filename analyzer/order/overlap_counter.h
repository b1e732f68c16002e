// Pairs of overlapping accesses of two lists of runs, also of those in some segments only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/order/access_runs.h"

namespace iotune::analyzer {

// [from, until).
struct SegmentRange {
  std::uint64_t from = 0, until = UINT64_MAX;
};

// Two processes' runs in one file, each of one site and direction, with rising segments of their
// first accesses. The runs must outlive it.
class OverlapCounter {
 public:
  OverlapCounter(std::span<const AccessRun> a, std::span<const AccessRun> b);

  // UINT64_MAX: so many or more.
  std::uint64_t count(SegmentRange of_a = {}, SegmentRange of_b = {}) const;
  // Such a pair: two runs without levels.
  std::optional<std::pair<AccessRun, AccessRun>> example(SegmentRange of_a = {},
                                                         SegmentRange of_b = {}) const;

 private:
  struct Side {
    std::span<const AccessRun> runs;
    std::vector<std::uint64_t> last_segments;  // the highest up to each run
    std::vector<AccessRun> within(SegmentRange range) const;
  };
  Side a_, b_;
};

}  // namespace iotune::analyzer
