// A container that becomes an ordinary file in its own place.
#pragma once

#include <string>

namespace iotune::logstore {

// For who was the last to write to the container at `path`, and holds the exclusive lock on
// `container`: its bytes are copied into an ordinary file beside it, with its mode, owner and
// times, which then takes its name, and the container goes. A death at any moment leaves one of
// the two, whole, at the name or, where the file system cannot exchange names, beside it.
// 0 or -errno; -EIO where bytes are missing, -ENOSPC where there is no room: nothing has changed
// then.
int flatten_in_place(const std::string& path) noexcept;

}  // namespace iotune::logstore
