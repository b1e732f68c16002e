// Folders of one user's below a path of the site's, as "traces = /site/iotune/users/%u" has them.
#pragma once

#include <cstddef>

#include "core/os/short_text.h"

namespace iotune {

// nullptr, or what is wrong with the path as the site's file has it, in words that follow the
// entry's name: it has to be absolute, with %u for the user's number, so that no two users share a
// folder, no other % and no "..".
const char* fault_of_site_folder(const char* pattern, std::size_t bytes) noexcept;

// The folder of the effective user, without a system call that waits for a file system.
void add_site_folder(ShortText<4096>& path, const char* pattern) noexcept;

// `path` becomes the folder `name` in that of the effective user. The folder before the first name
// with %u has to be there, with the sticky bit where others may write in it. Those from it on are
// never links, this user's own, and closed to other writers. `make`: they are made and checked,
// 0700, or with `group` 0750, whatever the umask. Else nothing is made. nullptr, or why it cannot
// be had.
const char* site_folder(const char* pattern, const char* name, bool group, bool make,
                        ShortText<4096>& path) noexcept;

}  // namespace iotune
