// The words for where an answer came from: databases, traces and people read them.
#pragma once

#include <string_view>

#include "patterndb/decide/decision.h"

namespace iotune::patterndb {

// By enum iotune_source. Texts in place, not pointers: libiotune.so relocates nothing for them.
inline constexpr char kSourceNames[IOTUNE_SOURCES][12] = {
    "",       "exact",     "similar", "predicted", "config",
    "series", "untrained", "unknown", "explore",   "drift",
};

// `source` is below IOTUNE_SOURCES.
constexpr const char* source_name(unsigned source) noexcept {
  return kSourceNames[source];
}

// IOTUNE_SOURCE_NONE for a word that is none.
constexpr iotune_source source_named(std::string_view name) noexcept {
  for (unsigned i = 1; i < IOTUNE_SOURCES; ++i) {
    if (name == kSourceNames[i]) return static_cast<iotune_source>(i);
  }
  return IOTUNE_SOURCE_NONE;
}

// Whether the database gave settings that this run's own I/O did not choose.
constexpr bool is_of_database(std::string_view source) noexcept {
  return source == "exact" || source == "similar" || source == "predicted";
}

}  // namespace iotune::patterndb
