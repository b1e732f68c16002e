// Which names are the log store's.
#pragma once

#include <optional>
#include <string>

namespace iotune::logstore {

// `text`: IOTUNE_LOGSTORE. What of it is no absolute path is told and left out. False: none is
// left.
bool read_prefixes(const char* text);

// The absolute path of what `path` names, its directories without links, if it lies below a
// prefix; else nothing. `at`: where a relative one begins, or AT_FDCWD. The last part is as it is
// written, so it may be a link.
std::optional<std::string> path_below(int at, const char* path);
// For an absolute path, without a look at the file system where that can be told.
bool is_below_prefix(const char* path) noexcept;

// What /proc says that a descriptor stands for.
// The descriptor that a name such as /dev/stdout or /proc/self/fd/3 stands for; -1: none.
int descriptor_named(const char* path) noexcept;
std::string path_of_descriptor(int fd);

// Names that stay ordinary files: ROMIO's and OMPIO's files of shared file pointers, of some bytes
// that all ranks change under a lock.
bool stays_ordinary(const std::string& path);

// After fork, in the child.
void reset_prefix_lock() noexcept;

}  // namespace iotune::logstore
