// Settings that live in an MPI_Info: ROMIO's hints and striping.
#pragma once

#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/packed_decision.h"
#include "tuner/decision/reasons.h"
#include "tuner/opens/call_attempts.h"

namespace iotune::tuner {

// Hints of one decision as they are to be applied to one open.
struct HintPlan {
  HintPlan() = default;
  HintPlan(const HintPlan&) = delete;  // `wanted` has a text of its own here
  HintPlan& operator=(const HintPlan&) = delete;
  // The settings beneath HDF5, less what the program or its user set. cb_nodes brings a
  // fitting cb_config_list: ROMIO's default of one aggregator a host would undo it.
  SettingList wanted;
  char config_list[32];
  // Why others were left out, by index of the decision's settings; kNone: they were not.
  Reason refused[kMaxSettings];
  const char* words;  // of Reason::kCallFailed
  // HDF5's collective transfers may send each rank's bytes by itself: wanted, and not refused.
  bool individual_io;
};

// Nothing wanted, nothing refused.
void clear(HintPlan& plan) noexcept;

// True of all that works beneath HDF5's lists: hints, placement, advice to the kernel.
bool is_beneath_hdf5(const char* name) noexcept;
// Of these, what is passed to MPI-IO: the others go by the descriptor.
bool goes_by_info(const char* name) noexcept;

// Where a file is opened from.
struct OpenedFrom {
  int nodes;
  bool named_relatively;  // recorder::OpenState
};

// `info`: the program's hints or info_null. Local.
void plan_hints(const MpiApi& mpi, const char* path, Word info, const Decision& decision,
                OpenedFrom from, HintPlan& plan) noexcept;

// Whether make_info would add anything.
bool has_hints_for_mpiio(const HintPlan& plan) noexcept;

// Adds the hints that make_info would pass.
void add_hints(const Decision& decision, const HintPlan& plan, CallAttempts& attempts) noexcept;

// Leaves out what the attempt does, with its words, which are to live as long as `plan`, and what
// it brought along.
void leave_out_hints(const Decision& decision, const CallAttempts& attempts,
                     HintPlan& plan) noexcept;

// A new MPI_Info: the program's hints and the plan's, less what the attempt leaves out. 0 on
// failure. Local; the caller frees it.
Word make_info(const MpiApi& mpi, Word info, const HintPlan& plan, const Decision& decision,
               const CallAttempts& attempts) noexcept;

// A text of all hints that the plan adds, for ranks to compare.
std::uint64_t hash_hints(std::uint64_t hash, const HintPlan& plan) noexcept;

// The program's own call failed too: that was the fault of no hint.
void excuse_hints(HintPlan& plan) noexcept;

// Leaves all of them out, for `reason` where none stands yet.
void drop_hints(const Decision& decision, Reason reason, HintPlan& plan) noexcept;

// Reads the hints of an open file back and notes each as applied or without effect.
void note_hints(const MpiApi& mpi, Word file, const char* path, const Decision& decision,
                const HintPlan& plan) noexcept;

}  // namespace iotune::tuner
