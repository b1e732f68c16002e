// libiotune-prefetch.so, loaded by the processes that IOTUNE_PREFETCH is set for.
#pragma once

namespace iotune::prefetch {

// Loads it, and fills the recorder's transfer_hooks.h. By the constructor, once: later the program
// may be inside of malloc or a signal handler, where nothing can be loaded. What fails is one line,
// and nothing is prefetched.
void install_prefetch() noexcept;

}  // namespace iotune::prefetch
