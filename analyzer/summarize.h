// A trace as patterns.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/run_summary.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

using recorder::Error;
using recorder::Result;

// Reads a trace or a process buffer, one process after the other: memory is what one of them with
// `calls_at_once` calls needs (of those with more calls a batch is held at a time), and what the
// patterns need. Damage and whatever is missing becomes a warning.
Result<RunSummary> summarize(const std::string& trace_path,
                             std::uint64_t calls_at_once = std::uint64_t{1} << 18U);

}  // namespace iotune::analyzer
