// Which processes leave a trace. A site may have iotune loaded for everybody: what thousands of
// small programs do would bury the run that somebody looks for.
#pragma once

#include <cstdint>

namespace iotune::recorder {

enum class Leaves : std::uint8_t {
  kTrace,   // its calls are worth one, or it was asked for one (IOTUNE_TRACE)
  kBuffer,  // alone they are not; others of its run have calls, and the process that joins these
            // decides
  kNothing
};

// Once the calls are stored (end_buffer). Without MPI, HDF5 and netCDF many bytes have to be moved
// (Configuration::keep_above_bytes); with MPI one byte of a file that is not stdout's; with HDF5 or
// netCDF alone one that is written, or 1 MiB that is read.
Leaves what_is_left() noexcept;

// Whether this process moved a byte of such a file; all processes of an MPI run decide together.
bool moved_data() noexcept;
// They decided that nothing is left.
void give_up_run() noexcept;

}  // namespace iotune::recorder
