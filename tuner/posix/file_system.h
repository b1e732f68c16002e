// What a file's file system is, and whether locks on it hold between nodes.
#pragma once

#include <cstddef>

namespace iotune::tuner {

// By its directory, because the file may not exist yet, and where the name is a link by that of
// what it points to: a name of patterndb/settings/filesystems.h. What the last directory has is
// remembered; any thread may ask.
const char* file_system_of(const char* file) noexcept;

// True where fcntl locks exclude processes on other nodes too, or none of those can reach the file:
// ROMIO sieves writes under them. Unknown file systems count as false. On one node locks always
// hold.
bool locks_hold_between_nodes(const char* file, const char* file_system) noexcept;

// The options of the file system with this device number, of the text of /proc/self/mountinfo, in
// that text; bytes 0 where there is none. All its mounts share them (a bind mount's own, such as
// ro, are not among them).
struct MountOptions {
  const char* text;
  std::size_t bytes;
  bool has(const char* option) const noexcept;
};
MountOptions mount_options(const char* mountinfo, unsigned major, unsigned minor) noexcept;

}  // namespace iotune::tuner
