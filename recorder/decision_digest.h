// What a decision says, but for the file that it is for, as one number: by it iotune_decision_again
// names the iotune_decision of its process that said the same (FORMAT.md, pseudo calls).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/os/fnv1a.h"

namespace iotune::recorder {

// The numbers and texts of an iotune_decision, in its order. FNV-1a; each text ends with a NUL.
constexpr std::int64_t decision_digest(std::int64_t row, std::int64_t distance_thousandths,
                                       std::int64_t state, std::string_view source,
                                       std::string_view pattern,
                                       std::string_view message) noexcept {
  Fnv1a hash;
  for (const std::int64_t number : {row, distance_thousandths, state}) {
    const auto bits = static_cast<std::uint64_t>(number);
    for (unsigned shift = 0; shift < 64; shift += 8) hash.add(static_cast<char>(bits >> shift));
  }
  for (const std::string_view text : {source, pattern, message}) {
    for (const char c : text) hash.add(c);
    hash.add('\0');
  }
  return static_cast<std::int64_t>(hash.value());
}

}  // namespace iotune::recorder
