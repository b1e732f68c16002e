// A slice's own calls of libc: those on the program's descriptors become slice.h's.
#pragma once

#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// Before the first slice runs.
void watch_slice_calls(const PrefetchHost& host) noexcept;

// By the slice's thread, for the rest of its life.
void enter_slice() noexcept;

}  // namespace iotune::prefetch
