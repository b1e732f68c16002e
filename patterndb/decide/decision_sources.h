// The words for where an answer came from: databases, traces and people read them.
#pragma once

#include <string_view>

#include "patterndb/decide/decision.h"

namespace iotune::patterndb {

// By enum iotune_source. Texts in place, not pointers: libiotune.so relocates nothing for them.
#define IOTUNE_SOURCE(name, word) word,
inline constexpr char kSourceNames[IOTUNE_SOURCES][12] = {
#include "patterndb/decide/decision_sources.inc"
};
#undef IOTUNE_SOURCE

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
constexpr bool is_of_database(iotune_source source) noexcept {
  return source == IOTUNE_SOURCE_EXACT || source == IOTUNE_SOURCE_SIMILAR ||
         source == IOTUNE_SOURCE_PREDICTED;
}

}  // namespace iotune::patterndb
