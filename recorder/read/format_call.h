// Calls as text, in the style of the paper's Figure 2 (PDSW'15):
//   H5Screate_simple (2,{24;24},NULL) 67108866
#pragma once

#include <string>

#include "recorder/read/call.h"

namespace iotune::recorder {

// Name, arguments and result; for transfers of HDF5 the selection behind them. A call without
// a signature, or whose words do not fit it, shows its words.
std::string format_call(const Call& call);

// How many upper layers the call was made inside of.
unsigned depth_of(const Call& call);

// "hdf5", "mpiio", "stdio", "posix", "iotune"; "unknown" without a signature.
const char* layer_name(const Call& call);

// The whole line: Unix time, two spaces for each layer around it, the call, seconds; `~` before
// times that are interpolated.
std::string format_line(const Call& call, std::uint64_t process_wall_ns);

}  // namespace iotune::recorder
