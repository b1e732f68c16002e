// What a model predicted for a pattern becomes an answer of the user's database when a run got it:
// from then on his runs confirm it or take it back, as they do with what was measured.
#pragma once

#include <cstdint>

#include "patterndb/store/records.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

inline constexpr char kPredictedSource[] = "predicted";

// The row of the answer that the file got by prediction; it is made where it is missing. -1: the
// file got none, none took effect, or the pattern has an answer by now.
std::int64_t adopted(sqlite::Connection& own, const ObservedFile& file, const Pattern& pattern);

}  // namespace iotune::patterndb
