// Whether an open by name is the log store's.
#pragma once

namespace iotune::logstore {

// Of an open of `path` that may make it, by this thread and now.
bool takes(const char* path) noexcept;

}  // namespace iotune::logstore
