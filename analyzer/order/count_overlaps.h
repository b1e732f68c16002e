// How many accesses of one run overlap accesses of another: counted from the loops, so that time
// grows with the levels of the runs and not with their accesses.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/order/access_runs.h"

namespace iotune::analyzer {

// All the bytes that a run may touch: [first, end).
struct RunBounds {
  std::int64_t first, end;
};
RunBounds bounds_of(const AccessRun& run);
std::uint64_t accesses_of(const AccessRun& run);
// Of its last access.
std::uint64_t last_segment_of(const AccessRun& run);

// Pairs of an access of `a` and one of `b` that share a byte; UINT64_MAX: so many or more.
std::uint64_t count_overlaps(const AccessRun& a, const AccessRun& b);

// Such a pair: two runs without levels.
std::optional<std::pair<AccessRun, AccessRun>> one_overlap(const AccessRun& a, const AccessRun& b);

// Appends the part of the run that lies in segments [from, until).
void clip_segments(const AccessRun& run, std::uint64_t from, std::uint64_t until,
                   std::vector<AccessRun>& to);

}  // namespace iotune::analyzer
