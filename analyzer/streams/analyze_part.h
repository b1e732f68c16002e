// Reads a part of a trace's processes and writes what `iotune analyze` needs of it: a pattern log
// of their streams, and a record for each stream with sums and what comes next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "patterns/predict/prediction.h"
#include "recorder/read/result.h"

namespace iotune::analyzer {

// Of one stream, in the order of the log's streams. In a file: the four numbers, then `ahead`
// predictions of which the first `foreseen` count; all as in memory, since the file does not
// outlive the command.
struct StreamRecord {
  std::uint64_t accesses = 0, bytes = 0;
  std::uint64_t right = 0;  // accesses that were predicted exactly
  std::uint64_t foreseen = 0;
  std::vector<patterns::Prediction> next;
};

struct PartOptions {
  std::size_t first_process = 0, processes = SIZE_MAX;
  unsigned layers = ~0U;           // bit n: Layer n
  std::string predictor = "nest";  // patterns/predict/predictors.h
  unsigned ahead = 0;              // accesses that are predicted; 0: nothing is
};

struct PartDone {
  std::uint64_t accesses = 0, streams = 0, without_place = 0, empty = 0, log_bytes = 0;
  std::vector<std::string> losses;  // batches that cannot be read
};

// The name that a stream has in the log: "posix write /scratch/run.h5".
recorder::Result<PartDone> analyze_part(const std::string& trace, const PartOptions& options,
                                        const std::string& log, const std::string& records,
                                        const std::function<void(std::uint64_t)>& progress);

}  // namespace iotune::analyzer
