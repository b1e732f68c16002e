// Writes and holes that later ones hide as a whole: a file that is written again and again needs
// neither their places nor, once they are gone, anybody's times.
#pragma once

#include "analyzer/index/offset_index.h"
#include "recorder/read/result.h"

namespace iotune::logstore {

// Drops hidden nests, hidden segments, and holes that hide nothing. Finds those that one later
// write or loop covers, or that a loop of the same places was written over; there may be others.
// Returns whether anything was dropped. `parts` are those of one index: segments are disjoint.
bool drop_hidden(analyzer::IndexParts& parts);

// The index of `parts` without what drop_hidden() finds, and without times where nothing overlaps.
recorder::Result<analyzer::OffsetIndex> without_hidden(analyzer::IndexParts parts);

}  // namespace iotune::logstore
