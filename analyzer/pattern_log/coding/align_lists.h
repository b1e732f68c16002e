// Where a loop begins is chance: a nest is recognised from the first three iterations that fit, and
// three rows in even steps are a loop of their own wherever they stand. So ranks that do the same
// have terms before and behind their loop, each rank others. Here they get lists of one form.
#pragma once

#include <vector>

#include "analyzer/pattern_log/section.h"

namespace iotune::analyzer::pattern_log {

// Terms before and behind a loop that are iterations of it, cut somewhere else, join it, where that
// makes the list shorter.
void join_cut_loop(Shapes& shapes, TermList& list);

// That, in each list; and short loops in a body are written out beside others of their kind, where
// lists thereby get fewer forms.
void align_lists(Shapes& shapes, std::vector<Piece>& pieces);

}  // namespace iotune::analyzer::pattern_log
