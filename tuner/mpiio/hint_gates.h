// Settings that could lose data where the MPI-IO or the file system is not fit for them.
#pragma once

#include "tuner/decision/packed_decision.h"
#include "tuner/decision/reasons.h"

namespace iotune::tuner {

// HDF5's transfer property that, as "individual", has each rank write its part of a collective
// transfer by itself.
inline constexpr char kIndividualIoSetting[] = "dxpl_mpio_collective_opt";

struct HintGround {
  bool sieves;              // this MPI-IO sieves writes of all ranks at once rightly
  const char* file_system;  // a name of patterndb/settings/filesystems.h
  int nodes;
  bool locks_hold;          // between nodes
  bool whole_path = false;  // the program's name of the file means the same from every directory
};

// Reason::kNone where `setting` may be applied together with the hints of `wanted`, else why not.
// The same on all ranks of equal grounds.
Reason why_unsafe(const HintGround& ground, const SettingList& wanted,
                  const Setting& setting) noexcept;

// Whether any setting of the decision needs to be asked about.
bool needs_ground(const Decision& decision) noexcept;

// The hint that a value of `setting` would change by itself, or nullptr; the `index`th of them.
// Who set that one decides.
const char* overridden_by(const Setting& setting, int index) noexcept;

}  // namespace iotune::tuner
