// Files of the mount that are containers of the log store behind it (--logstore).
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "logstore/store/logged_file.h"

namespace iotune::fuse {

using logstore::LoggedFile;

// Is what lies at `real` a file that is kept as logs? False, too, where --logstore was not given.
bool is_logged(const std::string& real);

// 0 or -errno.
int open_logged(const std::string& real, std::shared_ptr<LoggedFile>& file);
// Makes an empty one, for the user who asks.
int make_logged(const std::string& real, mode_t mode);
// A descriptor of the handle, for locks: each opener's own. `flags` as open(2) has them.
int open_handle(const std::string& real, int flags);
// lstat(2), for whatever is there.
int status_of(const std::string& real, struct stat& to);
// Where extended attributes of what lies at `real` are: a container's are the handle's.
std::string attributes_path(const std::string& real);

// fallocate(2). Nothing can be reserved: what would reserve room only sets the size.
int allocate_logged(LoggedFile& file, int mode, off_t offset, off_t length);

}  // namespace iotune::fuse
