// What ended runs have left in the buffer root, held within a number of runs: where no iotune
// command ever joins it (docs/commands.md, "Leftovers"), it would take this node's memory.
#pragma once

namespace iotune::recorder {

// Runs whose buffers may lie in `root`; beyond it the oldest ended ones are removed, which is said.
// What may not be removed does not count, as far as it is older than those.
inline constexpr unsigned kMostRunsLeft = 256;

// To be called by who has just made a run's directory in `root` (an absolute path): once a run
// and node. Removes nothing that is younger than a minute (ten, where it lasted for more than one),
// of a process that is alive, of another host or container, being joined, or not iotune's; no run
// whose launcher is alive, nor one of `iotune run` within a day; and nothing at all where the file
// system does not count the directories in a directory (btrfs).
void bound_leftovers(const char* root) noexcept;

}  // namespace iotune::recorder
