// What the launcher's variables say of this rank's node before MPI_Init.
#pragma once

#include <cstdint>

namespace iotune {

// Ranks of the run that the launcher starts on this node; 0 where it does not say.
// python/iotune/doctor/linked.py names launchers that do not.
std::uint64_t ranks_on_this_node() noexcept;

bool launcher_says_one_node() noexcept;

// A launcher has started this process as one of several.
bool launched_as_one_of_several() noexcept;

}  // namespace iotune
