// Files that are mapped and written by plain stores, on the terms of design.md ("Files of our
// own"): blocks allocated before they are mapped, on node-local file systems only, never past
// a file size limit. A store into a hole of a full disk would be a SIGBUS in the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/os/private_memory.h"

namespace iotune {

enum class MapFailure : std::uint8_t {
  kNone,
  kOpen,
  kFileSystem,
  kSizeLimit,
  kNoSpace,
  kMap,
  kLimit
};
const char* describe(MapFailure failure) noexcept;

// Creates `path` (it must not exist), mode 0600, allocates and maps `bytes` from its start.
void* create_mapped(const char* path, std::size_t bytes, MapFailure& failure) noexcept;

// The memory at `memory` stays as it is and where it is, but is no file's any more. Stores that
// other threads make meanwhile may be lost. False: no memory, it is still the file's.
bool make_private(void* memory, std::size_t bytes) noexcept;

// Allocates and maps `bytes` at `offset` of the file that create_mapped made. It is opened
// anew, so that no descriptor of ours is in the way of the program's close_range or dup2.
void* extend_mapped(const char* path, std::uint64_t offset, std::size_t bytes,
                    MapFailure& failure) noexcept;

}  // namespace iotune
