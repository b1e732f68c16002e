// Streams of stdio over logged files: libc reads and writes below a stream by itself, where nothing
// can stand in front of it.
#pragma once

#include <cstdio>

namespace iotune::logstore {

// A stream over the logged descriptor, which it closes; fileno() gives it. `mode` as of fopen(3).
// nullptr: errno says why, and the descriptor is closed where `closes`.
FILE* stream_of(int fd, const char* mode, bool closes = true) noexcept;

}  // namespace iotune::logstore
