// Which calls are wanted: of each kind any of its values, of all kinds together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recorder/read/call.h"

namespace iotune::recorder {

struct CallFilter {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranks;  // both included; empty: all
  unsigned layers = 0;                                       // mask of Layer; 0: all
  std::vector<std::string> names;                            // shell patterns; empty: all
  std::vector<std::string> files;  // shell patterns of paths or of their ends; empty: all
  // Of the call's start, after the run's first call.
  std::uint64_t from_ns = 0, until_ns = UINT64_MAX;

  bool wants_rank(std::int64_t rank) const;
  // Layer and name, which all calls of a stream share.
  bool wants_stream(const CallStream& stream) const;
  bool wants_file(const std::string& path) const;
  bool wants_start(std::uint64_t ns_after_run_start) const {
    return ns_after_run_start >= from_ns && ns_after_run_start < until_ns;
  }
};

}  // namespace iotune::recorder
