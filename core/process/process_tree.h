// The processes that one command line started, where nobody gathers them (no launcher, no
// `iotune run`): each writes the trace that IOTUNE_TRACE names, and none may lose the others'
// calls.
#pragma once

namespace iotune {

// "PID-START" of the topmost process above this one that began with the same IOTUNE_TRACE and
// LD_PRELOAD, or of this one; the same in a child of fork. Reads /proc at the first call.
const char* process_tree() noexcept;

}  // namespace iotune
