// A slice's own calls of libc: those on the program's descriptors become slice.h's.
#pragma once

#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// Before the first slice runs.
void watch_slice_calls(const PrefetchHost& host) noexcept;

// By the slice's thread, around the slice; and in the child of a fork, which has no such thread.
void enter_slice() noexcept;
void leave_slice() noexcept;

}  // namespace iotune::prefetch
