// Which calls of a process are needed one by one to summarise it (process_walk.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/read/call_walk.h"

namespace iotune::analyzer {

// The layers of a call that HDF5 made itself, with none of another library between.
inline constexpr std::uint8_t kInHdf5 = 1 << static_cast<std::size_t>(Layer::kHdf5);

// A transfer of HDF5 whose numbers have the selection of one dataset at one place.
bool moves_one_dataset(const recorder::CallSignature& signature);

recorder::WalkNeeds walk_needs();

}  // namespace iotune::analyzer
