// The layout of a dataset that is being created: its chunks, and with them the fill time. Only
// where the user asked for it: other tools notice.
#pragma once

#include "recorder/hooks/decisions.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/reasons.h"
#include "tuner/hdf5/hidden_errors.h"

namespace iotune::tuner {

// What one H5Dcreate keeps of it, from before the call to after.
struct LayoutInProgress {
  const Setting* chunk;  // nullptr: none is wanted
  const Setting* fill_time;
  Reason chunk_refused, fill_time_refused;
  char* words;                 // of Reason::kHdf5RefusesIt: private memory; nullptr: none
  Hid given_dcpl, tuned_dcpl;  // tuned: 0 where there is none
  HiddenErrors errors;         // hidden while the call may fail of our lists
};

// Puts a list of our own in call.dcpl, or writes down why not. Every rank of the file comes here,
// because H5Dcreate is collective: a rank that cannot set what the others set would give the
// dataset another layout there.
void set_layout(Provider& hdf5, const Hdf5Api& api, const FilePlan& plan,
                recorder::DatasetCall& call, LayoutInProgress& layout) noexcept;

// Keeps what HDF5 said of the call that has just failed, for notes of Reason::kHdf5RefusesIt.
void keep_refusal(const Hdf5Api& api, LayoutInProgress& layout) noexcept;

// True where HDF5 refused our list on all ranks: the call is to be made once more, with the
// program's list, which `dcpl` then is. A call that failed on some ranks alone stays failed there,
// and the program's handler is called now.
bool try_own_layout(const Hdf5Api& api, const FilePlan& plan, Hid dataset, Hid& dcpl,
                    LayoutInProgress& layout) noexcept;

void close_layout(const Hdf5Api& api, LayoutInProgress& layout) noexcept;

}  // namespace iotune::tuner
