// What stands in front of HDF5's functions.
#pragma once

#include <span>

#include "gather/hdf5/gathered_hdf5_file.h"
#include "gather/hdf5/transfer_lists.h"
#include "gather/replaced.h"

namespace iotune::gather {

// What is to be called in place of HDF5's function `name`, which is `real`. Of the first HDF5 that
// is asked for; of another one always `real`.
void* in_front_of_hdf5(const char* name, void* real, Provider& hdf5) noexcept;

// Before a call that may need what is held, or change where it belongs.
void let_hdf5_out() noexcept;
// The same, and of the files that are open nothing is held any more.
void stop_hdf5() noexcept;

template <Name kName, typename Result, typename... Arguments>
struct LetsOut {
  static inline Result (*real)(Arguments...) = nullptr;
  static Result own(Arguments... arguments) {
    let_hdf5_out();
    return real(arguments...);
  }
};

template <Name kName, typename Result, typename... Arguments>
struct CallsBack {
  static inline Result (*real)(Arguments...) = nullptr;
  static Result own(Arguments... arguments) {
    let_hdf5_out();
    const InsideHdf5 inside;
    return real(arguments...);
  }
};

// Others may see the file's bytes from now on, or other files' objects are found in it, or calls do
// not end in the order in which they are made.
template <Name kName, typename Result, typename... Arguments>
struct Stops {
  static inline Result (*real)(Arguments...) = nullptr;
  static Result own(Arguments... arguments) {
    stop_hdf5();
    return real(arguments...);
  }
};

// Gives a property list other values.
template <Name kName, typename Result, typename... Arguments>
struct ChangesList {
  static inline Result (*real)(Hid, Arguments...) = nullptr;
  static Result own(Hid list, Arguments... arguments) {
    forget_list(list);
    return real(list, arguments...);
  }
};

// Generated from recorder/calls.table (generate_hdf5_calls.py): all that have no class of their own
// in calls.cpp and are not harmless.
std::span<const Entry> table_calls() noexcept;

}  // namespace iotune::gather
