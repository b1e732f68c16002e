/* The lists of decision_words.inc as numbers (C and C++) and as names (C++). */
#ifndef IOTUNE_CORE_WORDS_DECISION_WORDS_H
#define IOTUNE_CORE_WORDS_DECISION_WORDS_H

#define IOTUNE_SOURCE(NAME, word) IOTUNE_SOURCE_##NAME,
enum iotune_source {
#include "core/words/decision_words.inc"
  IOTUNE_SOURCES
};

#define IOTUNE_STATE(NAME, Name, word) IOTUNE_STATE_##NAME,
enum iotune_state {
#include "core/words/decision_words.inc"
  IOTUNE_STATES
};

#ifdef __cplusplus
#include <cstdint>
#include <string_view>

namespace iotune {

#define IOTUNE_STATE(NAME, Name, word) k##Name,
enum class TuningState : std::uint8_t {
#include "core/words/decision_words.inc"
};

#define IOTUNE_VERDICT(Name, word) k##Name,
enum class Verdict : std::uint8_t {
#include "core/words/decision_words.inc"
};

// Texts in place, not pointers: libiotune.so relocates nothing for them.
#define IOTUNE_SOURCE(NAME, word) word,
inline constexpr char kSourceNames[][12] = {
#include "core/words/decision_words.inc"
};
#define IOTUNE_STATE(NAME, Name, word) word,
inline constexpr char kStateNames[][16] = {
#include "core/words/decision_words.inc"
};
#define IOTUNE_VERDICT(Name, word) word,
inline constexpr char kVerdictNames[][16] = {
#include "core/words/decision_words.inc"
};

// The numbers are below those of the lists.
constexpr const char* source_name(unsigned source) noexcept {
  return kSourceNames[source];
}
constexpr const char* state_name(TuningState state) noexcept {
  return kStateNames[static_cast<unsigned>(state)];
}
constexpr const char* verdict_name(Verdict verdict) noexcept {
  return kVerdictNames[static_cast<unsigned>(verdict)];
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

}  // namespace iotune
#endif
#endif
