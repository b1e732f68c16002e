// What became of each setting, written into the trace for `iotune explain` (FORMAT.md, pseudo
// calls iotune_decision and iotune_setting).
#pragma once

#include "tuner/decision_block.h"

namespace iotune::tuner {

enum class Verdict : std::uint8_t {
  kApplied = 0,
  kWithoutEffect = 1,
  kRefused = 2,
  kUnverifiable = 3,
  kNotToldOf = 4  // of so many more datasets
};

void note_decision(const char* file, const Decision& decision) noexcept;
void note_setting(const char* file, const char* parameter, const char* wanted, const char* got,
                  Verdict verdict, const char* reason) noexcept;

}  // namespace iotune::tuner
