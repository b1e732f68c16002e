// Why a setting was applied, or was not. reasons.inc is the one table: each reason with its text.
#pragma once

#include <cstdint>

#include "core/os/short_text.h"

namespace iotune::tuner {

enum class Reason : std::uint8_t {
#define IOTUNE_REASON(name, text) name,
#include "tuner/decision/reasons.inc"
#undef IOTUNE_REASON
};

// A reason with what its text leaves open.
struct Why {
  Reason reason = Reason::kNone;
  const char* words = "";         // behind the text: what another library said
  const char* dataset = nullptr;  // before the text: of which dataset this is
  int numbers[4] = {};            // for each % of the text
};

using ReasonText = ShortText<640>;

// "DATASET: TEXT: WORDS", less what is not there.
void write_reason(const Why& why, ReasonText& to) noexcept;

}  // namespace iotune::tuner
