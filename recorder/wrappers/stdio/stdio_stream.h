// A stream as the wrappers see it: without <stdio.h>, which knows some functions by other names.
#pragma once

#include <cstdint>

struct _IO_FILE;

// NOLINTBEGIN(readability-redundant-declaration): only where a header of libstdc++ includes it
extern "C" {
int fileno_unlocked(_IO_FILE* stream) noexcept;
std::int64_t ftello(_IO_FILE* stream);
}
// NOLINTEND(readability-redundant-declaration)

namespace iotune::recorder {

// Not fileno, which is a call that is recorded. -1 for nullptr and for streams in memory.
inline int descriptor_of(_IO_FILE* stream) noexcept {
  return stream == nullptr ? -1 : fileno_unlocked(stream);
}

}  // namespace iotune::recorder
