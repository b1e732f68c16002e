// What HDF5 made of collective transfers, in words.
#pragma once

#include <array>
#include <cstdint>

#include "recorder/read/call_arguments.h"

namespace iotune::recorder {

// Of H5D_mpio_actual_io_mode_t; the last one means what later versions of HDF5 may add.
inline constexpr std::size_t kActualModes = 6;
const char* actual_mode_text(std::size_t mode);

// Bits of H5D_mpio_no_collective_cause_t, lowest first; the last one as above.
inline constexpr std::size_t kCollectiveCauses = 10;
const char* collective_cause_text(std::size_t bit);

// Transfers by mode, and by each cause against collective I/O on any rank: one may have several.
struct ActualCounts {
  std::array<std::uint64_t, kActualModes> modes{};
  std::array<std::uint64_t, kCollectiveCauses> causes{};

  void add(const TransferExtras::Actual& actual, std::uint64_t transfers = 1);
  void add(const ActualCounts& other);
};

}  // namespace iotune::recorder
