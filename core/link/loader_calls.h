// dlsym and dlopen, found in what is loaded. libiotune.so is not linked to them: before glibc 2.34
// they were libdl's, and to name that library as needed costs each start one more file to map.
#pragma once

namespace iotune {

// As dlsym for a caller in this library; nullptr also where it cannot be had.
void* loader_symbol(void* handle, const char* name) noexcept;

// As dlopen for a caller in this library; nullptr also where it cannot be had.
void* loader_open(const char* path, int flags) noexcept;

}  // namespace iotune
