// A trace as patterns.
#pragma once

#include <string>

#include "analyzer/run_summary.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

// Reads a trace or a process buffer, one process after the other: memory is what the largest
// of them needs, and what the patterns need. Damage and whatever is missing becomes a warning.
Result<RunSummary> summarize(const std::string& trace_path);

}  // namespace iotune::analyzer
