// The last process that closes a file compacts it, where that is worth it.
#pragma once

#include <string>

namespace iotune::logstore {

// Nobody writes to the container at `path`: the caller has the lock that says so (FORMAT.md).
void compact_on_close(const std::string& path) noexcept;

}  // namespace iotune::logstore
