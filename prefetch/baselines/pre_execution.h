// The schedules of pre-execution prefetching, which ours is compared with. Both read ahead
// themselves, one block after the other, and throw away what they read: it stays in the page cache.
#pragma once

#include "prefetch/preload/schedules.h"

namespace iotune::prefetch {

// PP: a block is read whatever the program does.
extern const Schedule kPp;
// PPIS (Zhao et al.): a block is begun only while the program moves nothing.
extern const Schedule kPpis;

}  // namespace iotune::prefetch
