// What a file's I/O takes on the deciding rank, for files that a run may make a series of: the time
// inside its open, its transfers and from the last of these to the end of its close.
#pragma once

#include <cstdint>

#include "core/link/provider.h"

namespace iotune::tuner {

std::uint64_t series_clock_ns() noexcept;

// The file was opened; `started_ns` is when its open began. One at a time: another ends the watch.
void watch_series(const Provider& hdf5, std::int64_t file, const char* path,
                  std::uint64_t started_ns) noexcept;

// True while a file is watched, by this process alone.
bool series_is_watched() noexcept;

// A transfer of this process ended.
void count_transfer(std::uint64_t started_ns, bool collective) noexcept;

// At H5Fclose: tells what it took.
void series_closed(const Provider& hdf5, std::int64_t file) noexcept;

}  // namespace iotune::tuner
