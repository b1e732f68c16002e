// The bytes of a container in an ordinary file, holes as holes.
#pragma once

#include <cstdint>

#include "logstore/read/container.h"

namespace iotune::logstore {

// Of a file that has nothing there yet, or what an earlier call has written, holes that are smaller
// than a block are filled. Of one with bytes of its own none is touched.
enum class Holes : std::uint8_t { kSmallFilled, kLeft };

// Writes what the container has in [offset, offset + length) to the same place of the file `to`.
// Returns the bytes that were written. An error where bytes are missing.
Result<std::int64_t> copy_flat(const Container& container, int to, std::int64_t offset,
                               std::int64_t length, Holes holes = Holes::kSmallFilled);

}  // namespace iotune::logstore
