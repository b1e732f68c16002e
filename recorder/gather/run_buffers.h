// The process buffers that lie in this run's folder.
#pragma once

namespace iotune::recorder {

// Beside the one of this process, which exists.
bool run_has_other_buffers() noexcept;

// Whether a process of this node has one there.
bool run_has_buffer_of(long pid) noexcept;

// This process is about to end another one of its run, or itself, by SIGTERM: a process that reads
// the trace knows that it did not die. Does nothing in a signal handler. Keeps errno.
void note_terminated(long pid) noexcept;

}  // namespace iotune::recorder
