// On which file system a path lies, from the kernel's own table of mounts: no file system is asked
// but local ones, which always answer.
#pragma once

#include "core/os/short_text.h"

namespace iotune {

// By the name that the kernel has for it: one whose names are looked up on this node.
bool is_local_file_system(const char* type) noexcept;

struct DistantMount {
  ShortText<4096> folder;  // where it is mounted; "/" where the table cannot be read
  // What of the path lies below, behind the last slash of `folder`: "" or "/name/…".
  ShortText<4096> below;
  bool by_automounter = false;
};

// Whether `path`, an absolute one, leads to a file system that is not local, be it through links:
// these are read up to there. The rest of the path is not looked up.
bool leads_to_distant_mount(const char* path, DistantMount& mount) noexcept;

}  // namespace iotune
