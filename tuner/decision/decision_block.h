// A decision as the database library gives it (patterndb/decide/decision.h), broadcast as text and
// parsed by every rank into fixed memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "patterndb/decide/decision.h"

namespace iotune::tuner {

struct Setting {
  char name[32];
  char value[256];
  char dataset[128];  // of which it is a setting; empty: of all
};

// A setting that the gate of the database library does not let through.
struct RefusedSetting {
  char name[32];
  char value[96];
  char reason[256];
};

struct Decision {
  static constexpr int kMaxRefused = 24;  // more are not told
  static constexpr int kMaxSettings = IOTUNE_DECISION_MAX_SETTINGS;
  char source[16];
  char state[24];
  std::int64_t row;
  std::int64_t distance_milli;  // distance × 1000; negative: no answer is known to have one
  char pattern[512];
  char message[512];
  unsigned own_parameters;  // of the user's Open MPI (openmpi_io.h)
  bool sieves;              // writes of all ranks at once may be sieved by this MPI-IO
  int count, refused_count;
  Setting settings[kMaxSettings];       // those behind `count` are not initialised
  RefusedSetting refused[kMaxRefused];  // likewise
};

// No settings and no words. Of the settings nothing is written: they are seven pages, and a file's
// open would wait for each page that is touched first.
void clear(Decision& decision) noexcept;

// The next slot, zeroed; nullptr where all are taken. The caller counts it.
Setting* next_slot(Decision& decision) noexcept;

// False where the text is not a whole decision: then nothing is applied.
bool parse_decision(const char* text, std::size_t bytes, Decision& to) noexcept;

// Writes into a whole decision's text what rank 0 says for all. Its new length; as it was where
// there is no room.
std::size_t add_own_parameters(char* text, std::size_t bytes, unsigned parameters) noexcept;

// Whether the decision's text has settings, without memory to parse it: true for every whole
// decision that parse_decision finds some in.
bool names_settings(const char* text, std::size_t bytes) noexcept;

// What the text says of further opens (`unasked`, decision.h).
int unasked_opens(const char* text, std::size_t bytes) noexcept;

// The value of a setting for all datasets, nullptr where the decision has none.
const char* find_setting(const Decision& decision, const char* name) noexcept;

// FNV-1a, for ranks to compare what each would apply.
inline constexpr std::uint64_t kHashStart = 0xcbf29ce484222325u;
std::uint64_t hash_text(std::uint64_t hash, const char* text) noexcept;

}  // namespace iotune::tuner
