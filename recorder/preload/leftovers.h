// What ended runs have left in the buffer root, held within a number of runs: where no iotune
// command ever joins it (docs/commands.md, "Leftovers"), it would take this node's memory.
#pragma once

namespace iotune::recorder {

// Runs whose buffers may lie in `root`; beyond it the oldest ended ones are removed, which is said.
inline constexpr unsigned kMostRunsLeft = 256;

// To be called by who has just made a run's directory in `root` (an absolute path): once a run
// and node. Removes nothing that is younger than a minute, of a process that is alive or of
// another host, being joined, or not iotune's; and nothing at all where the file system does not
// count the directories in a directory (btrfs).
void bound_leftovers(const char* root) noexcept;

}  // namespace iotune::recorder
