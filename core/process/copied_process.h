// A process whose memory is a copy of its parent's, or is its parent's.
#pragma once

namespace iotune {

// This process was made by a fork: it shares its parent's run, and leaves its buffer to the process
// that joins it.
bool is_forked() noexcept;

// pthread_atfork's handler of the child.
void in_forked_child() noexcept;

}  // namespace iotune
