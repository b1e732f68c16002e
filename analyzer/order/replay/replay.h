// The order of a run, from a simulated execution: each process goes on until it would have waited
// for another one, as it did when it was recorded. Memory is needed for what is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/order/models/happens_before.h"
#include "analyzer/order/replay/order_event.h"

namespace iotune::analyzer {

struct ReplayWish {
  // Of each process the segments that will be asked for, rising.
  std::vector<std::vector<std::uint64_t>> segments;
  std::vector<FileEvent> file_events;  // of the files that will be asked for
};

HappensBefore replay(const std::vector<std::unique_ptr<OrderEventSource>>& processes,
                     ReplayWish wish);

}  // namespace iotune::analyzer
