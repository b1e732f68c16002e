// Where a file really lies, or will lie once it is made: no symlink left on the way.
#pragma once

#include "core/os/short_text.h"

namespace iotune::tuner {

// Of an absolute path. Links at its end are followed too, dangling ones as well, because that is
// where an open makes the file. False where it is not known.
bool real_directory_of(const char* file, ShortText<4096>& directory) noexcept;

}  // namespace iotune::tuner
