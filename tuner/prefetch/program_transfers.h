// How many transfers of the program are under way, for schedules that give way to them: PPIS's
// flag, as a count.
#pragma once

namespace iotune::tuner {

void begin_program_transfer() noexcept;
void end_program_transfer() noexcept;

// Returns once none is under way.
void wait_for_program() noexcept;

void forget_transfers_after_fork() noexcept;

}  // namespace iotune::tuner
