// The end of a run: what it did is kept to be learnt from, and as much of that is done at once as
// there is time for.
#pragma once

namespace iotune::tuner {

// To be called when nobody waits any more: after the real MPI_Finalize, or at the exit of a serial
// process. `trace`: the run's own, whole, by its absolute path. Takes the smaller of 50 ms and 2 %
// of the time since the process began (or what IOTUNE_LEARN_MS says).
void learn_at_run_end(const char* trace) noexcept;

}  // namespace iotune::tuner
