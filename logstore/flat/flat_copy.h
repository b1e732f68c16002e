// The bytes of a container in an ordinary file, holes as holes.
#pragma once

#include <cstdint>

#include "logstore/read/container.h"

namespace iotune::logstore {

// Writes what the container has in [offset, offset + length) to the same place of the file `to`,
// which has nothing there yet, or what an earlier call has written. Holes are left
// out, but for those that are smaller than a block. Returns the bytes that were written. An error
// where bytes are missing.
Result<std::int64_t> copy_flat(const Container& container, int to, std::int64_t offset,
                               std::int64_t length);

}  // namespace iotune::logstore
