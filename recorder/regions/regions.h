// Regions of the program: parts of its run that it has names for (include/iotune.h). Each thread
// has a stack of open regions. What is said of them goes into the thread's ring as calls of
// iotune's own (FORMAT.md, "Pseudo calls"): the first entries of a region one by one, the others
// as a sum that grows in place, so that a loop of a million regions costs one record.
#pragma once

#include <cstdint>

#include "recorder/ring/process_buffer.h"

namespace iotune::recorder {

inline constexpr std::int64_t kNoRegionValue = INT64_MIN;

// Whose regions they are: an end closes regions of the same owner alone. nullptr: the program's own
// calls of iotune.h; others are named by an address that is theirs.
using RegionOwner = const void*;

// Begins a region of this thread. ENOTSUP where nothing is recorded. Keeps errno.
int begin_region(RegionOwner owner, const char* name, std::int64_t value) noexcept;
// Ends the innermost region of that name, and those inside it; nullptr: whatever its name is.
// EINVAL where none is open. Keeps errno.
int end_region(RegionOwner owner, const char* name) noexcept;

// The regions of a ring's thread. Lives beside the ring, not in it: few threads have any.
struct RegionTable;

// The ring's records are about to go: counts what they did for the regions that are open.
void account_before_emptying(Ring& ring) noexcept;
// Another thread has the ring.
void forget_regions(RegionTable* table) noexcept;
// After a fork.
void free_regions(RegionTable* table) noexcept;

}  // namespace iotune::recorder
