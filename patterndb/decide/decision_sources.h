// The words of decision.h for where an answer came from.
#pragma once

#include <string_view>

namespace iotune::patterndb {

// Whether the database gave settings that this run's own I/O did not choose.
inline bool is_of_database(std::string_view source) {
  return source == "exact" || source == "similar" || source == "predicted";
}

}  // namespace iotune::patterndb
