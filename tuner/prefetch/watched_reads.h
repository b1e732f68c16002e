// Prefetching as the recorder's advice: the program's transfers become streams, and streams ask the
// helper. README.md tells how the parts go together.
#pragma once

namespace iotune::tuner {

// Fills the advice's slots where IOTUNE_PREFETCH asks for it. By the constructor, once.
void install_prefetch() noexcept;

// In the child of a fork, which has no helper and makes streams of its own.
void forget_prefetch_after_fork() noexcept;

}  // namespace iotune::tuner
