// Hints that were given within the node's budget, until what they asked for is there: a thread
// waits for one after the other, says how long it took, and gives its part of the budget back.
#pragma once

#include <cstdint>

#include "prefetch/budget/storage_budget.h"
#include "prefetch/preload/stream_slots.h"

namespace iotune::prefetch {

// Once, at the start.
void set_up_requests(const PrefetchHost& host) noexcept;

// By the helper, at its start. False: there is no budget, and none of the others may be called.
bool start_request_watch(const PrefetchHost& host) noexcept;

// Hints [offset, offset + bytes) of the slot's file as soon as the budget has room; nothing where
// the slot closes before. By the helper, which holds the slot's in_flight.
void hint_within_budget(const StreamSlot& slot, std::int64_t offset, std::int64_t bytes) noexcept;

}  // namespace iotune::prefetch
