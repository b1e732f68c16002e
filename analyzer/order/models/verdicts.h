// Which conflicts of traces are properly synchronised under which model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/order/conflicts.h"
#include "analyzer/order/models/happens_before.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

struct TraceVerdict {
  TraceAccesses accesses;
  bool order_recorded = false;  // of some process at least
  std::vector<FileConflicts> files;
  std::vector<OrderUnknown> unknown;
};

TraceVerdict verify_traces(std::span<const recorder::TraceIndex> traces);

// Pairs of the group that are not properly synchronised.
std::uint64_t count_wrong(const ConflictGroup& group, const HappensBefore& order,
                          ConsistencyModel model);

}  // namespace iotune::analyzer
