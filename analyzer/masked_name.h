// Files of a series have one name but for their numbers: vpic00012.h5 and vpic00013.h5 are both
// vpic#.h#.
#pragma once

#include <string_view>

namespace iotune::analyzer {

// The name's characters one by one, with each run of digits as one '#'.
template <typename Visit>
void each_masked_character(std::string_view name, Visit visit) {
  bool in_digits = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !in_digits) visit(digit ? '#' : c);
    in_digits = digit;
  }
}

}  // namespace iotune::analyzer
