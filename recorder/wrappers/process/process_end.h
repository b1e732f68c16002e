// The end of a process by a call that runs no exit handlers.
#pragma once

namespace iotune::recorder {

// Before _exit: what exit's handlers would have done for a process that leaves its buffer to
// the process that joins it. Workers of Python's multiprocessing, and with them those of PyTorch's
// DataLoader, end so, forked or spawned; they are no deaths. Does nothing in a handler that has
// interrupted code of iotune's, nor where the stack is a small one. Keeps errno.
void end_before_leaving() noexcept;

}  // namespace iotune::recorder
