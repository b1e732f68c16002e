// What the command line of iotune-fuse says. `iotune fuse` makes it (python/iotune/cli/fuse.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "patterns/predict/predictors.h"
#include "prefetch/filesystem/request_delay.h"

namespace iotune::fuse {

struct Options {
  std::string root;   // the folder that is passed through
  std::string mount;  // where
  std::string trace;  // empty: nothing is recorded
  bool replace = false;
  std::uint64_t latency_ns = 0;           // of each read and write
  prefetch::LatencyTail tail;             // of that latency
  std::uint64_t metadata_latency_ns = 0;  // of each request on names and attributes, open and close
  std::uint64_t bytes_per_second = 0;     // over all requests; 0: as the root has it
  bool direct = false;                    // past the page cache: requests as the program makes them
  bool allow_other = false;
  bool logstore = false;  // containers are files, and new files are containers
  unsigned threads = 64;  // requests that are under way at once
  const patterns::PredictorKind* predictor = nullptr;      // nullptr: nothing is read ahead
  std::uint64_t prefetch_bytes = std::uint64_t{64} << 20;  // of memory for what was read ahead
  unsigned prefetch_threads = 16;
};

// Prints one line on stderr and returns false where the arguments are wrong.
bool read_options(const std::vector<std::string>& arguments, Options& options);

}  // namespace iotune::fuse
