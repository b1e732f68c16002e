// Whether this thread may be inside of a signal handler. Nobody can be asked; on doubt it is.
#pragma once

namespace iotune::tuner {

// Some 70 system calls: for what happens once a process.
bool may_be_in_signal_handler() noexcept;

}  // namespace iotune::tuner
