// Streams of stdio over logged files: libc reads and writes below a stream by itself, where nothing
// can stand in front of it.
#pragma once

#include <cstdio>

namespace iotune::logstore {

// A stream over the logged descriptor, which it closes; fileno() gives it. `mode` as of fopen(3).
// nullptr: errno says why, and the descriptor is closed where `closes`.
FILE* stream_of(int fd, const char* mode, bool closes = true) noexcept;

// The stream, one of those, is over `fd` from now on, which becomes the number that it had.
// False: errno says why, and `fd` is closed.
bool move_stream(FILE* stream, int fd, const char* mode) noexcept;

}  // namespace iotune::logstore
