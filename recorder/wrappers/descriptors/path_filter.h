// Which files are traced.
#pragma once

namespace iotune::recorder {

// By absolute path. IOTUNE_INCLUDE wins over IOTUNE_EXCLUDE, which wins over what is left out
// by default: system directories, libraries, Python's own files, and iotune's own.
bool path_is_traced(const char* absolute) noexcept;

}  // namespace iotune::recorder
