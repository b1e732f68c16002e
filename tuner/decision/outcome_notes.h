// What became of each setting, written into the trace for `iotune explain` (FORMAT.md, pseudo
// calls iotune_decision, iotune_decision_again and iotune_setting).
#pragma once

#include "tuner/decision/packed_decision.h"
#include "tuner/decision/reasons.h"

namespace iotune::tuner {

enum class Verdict : std::uint8_t {
  kApplied = 0,
  kWithoutEffect = 1,
  kRefused = 2,
  kUnverifiable = 3,
  kNotListed = 4  // of so many more datasets
};

// With what the gate refused of it.
void note_decision(const char* file, const Decision& decision) noexcept;
// Of an HDF5 file that has been opened. Short where its calls are not recorded and this process has
// noted the same of another file: a long series' files would fill the trace with one answer.
void note_decision_of_hdf5(const char* file, std::int64_t handle,
                           const Decision& decision) noexcept;
void note_setting(const char* file, const char* parameter, const char* wanted, const char* got,
                  Verdict verdict, const Why& why) noexcept;

}  // namespace iotune::tuner
