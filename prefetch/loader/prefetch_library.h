// libiotune-prefetch.so, loaded by the processes that IOTUNE_PREFETCH is set for.
#pragma once

namespace iotune::prefetch {

// Loads it, and fills the advice's slots. By the constructor, once: later the program may be inside
// of malloc or a signal handler, where nothing can be loaded. What fails is one line, and nothing
// is prefetched.
void install_prefetch() noexcept;

// In the child of a fork, which has no helper and makes streams of its own.
void forget_prefetch_after_fork() noexcept;

}  // namespace iotune::prefetch
