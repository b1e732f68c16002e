// Bytes that programs wrote into the handle of a container, past the log store.
#pragma once

#include "logstore/store/logged_file.h"

namespace iotune::logstore {

// Was anything written into the container's handle? Then that is taken into the log, each byte
// where it stands: a descriptor of the handle has the position of the file. Where both have bytes
// in one block, a zero of the handle counts as not written. `handle`: a descriptor of it, which
// saves a look at its name; -1: none. 0 or -errno.
int take_in_past_writes(LoggedFile& file, int handle = -1) noexcept;

// The file was cut: what was written past the log store behind its end is no more.
void cut_past_writes(const LoggedFile& file, std::int64_t file_size) noexcept;

}  // namespace iotune::logstore
