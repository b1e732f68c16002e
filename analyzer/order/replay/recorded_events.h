// The events of a trace's processes for the replay, read batch by batch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "analyzer/order/replay/order_event.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {

// Processes and events have access_reader's numbers. `traces` must outlive the result.
std::vector<std::unique_ptr<OrderEventSource>> recorded_events(
    std::span<const recorder::TraceIndex> traces);

}  // namespace iotune::analyzer
