// Which plan a stream of "recorded" follows. It begins with the one of its own number on the path.
// Workers that share a path (PyTorch's DataLoader starts as many for each epoch, and each of them
// has the first stream) have a plan each, and before the first reads it is unknown which is
// whose: so where a read is not the planned one, the plans of the path are compared with what the
// stream has read. And where a stream begins its own past anew, which a persistent worker does with
// each epoch of one order, it follows that.
#pragma once

#include "patterns/extent.h"

namespace iotune::prefetch {

struct StreamSlot;

// Whether the read that was just made is the one that the plan has next. Before the stream knows
// of it; the slot is locked and its predictor is "recorded".
bool is_planned(StreamSlot& slot, const patterns::Extent& access) noexcept;

// After the stream was informed of it.
void choose_plan(StreamSlot& slot, const patterns::Extent& access, bool planned) noexcept;

}  // namespace iotune::prefetch
