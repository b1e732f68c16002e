// How many transfers of the program are under way, for schedules that give way to them
// (schedules.h).
#pragma once

#include <atomic>

#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// Once, at the start.
void set_up_program_transfers(const PrefetchHost& host) noexcept;

void begin_program_transfer() noexcept;
void end_program_transfer() noexcept;

// Returns once none is under way, or `given_up` is set: a transfer may last for ever, and who
// closes the descriptor that the helper is about to use must not wait for it.
void wait_for_program(const std::atomic<bool>& given_up) noexcept;

}  // namespace iotune::prefetch
