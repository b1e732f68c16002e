// Times the I/O of one HDF5 file at a time on the deciding rank, for the files that a run writes:
// the time inside its open and its transfers, and from the end of the last transfer to the end of
// its close. Trials on a series of files and the search for drift need it (iotune_series_closed).
#pragma once

#include <cstdint>

#include "core/link/provider.h"

namespace iotune::tuner {

// The timer's clock; 0 where the program gave up the right to ask it.
std::uint64_t file_timer_ns() noexcept;

// The file was opened; its open began at `started_ns`. Another file that is being timed is dropped.
void start_file_timer(const Provider& hdf5, std::int64_t file, const char* path,
                      std::uint64_t started_ns) noexcept;

// True while this process times a file.
bool file_timer_is_on() noexcept;

// A transfer of this process, begun at `started_ns`, ended.
void time_transfer(std::uint64_t started_ns, bool collective) noexcept;

// At H5Fclose: reports the time of the file, if it is the one that is timed.
void stop_file_timer(const Provider& hdf5, std::int64_t file) noexcept;

}  // namespace iotune::tuner
