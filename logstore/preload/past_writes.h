// Descriptors that are read and written past the log store: those of stdin, stdout and stderr, over
// which libc and libstdc++ have streams from the start, and by programs that no preload reaches.
#pragma once

#include "logstore/preload/logged_descriptors.h"

namespace iotune::logstore {

// Was anything written into the container's handle? Then that is taken into the log, each byte
// where it stands: a descriptor of the handle has the position of the file. Where both have bytes
// in one block, a zero of the handle counts as not written. 0 or -errno.
int take_in_past_writes(LoggedFile& file) noexcept;

// The file was cut: what was written past the log store behind its end is no more.
void cut_past_writes(const LoggedFile& file, std::int64_t file_size) noexcept;

// What is to stand at descriptor 0 for a logged file that is only read: a copy of the file as it is
// now, at the same position, that anybody can read. A descriptor, or -errno.
int copy_for_stdin(int fd, OpenDescription& file) noexcept;

// The descriptor becomes 1 or 2. What is written past the log store goes to the position, so that
// an appending one has to be at the end.
void prepare_for_output(int fd, OpenDescription& file) noexcept;

}  // namespace iotune::logstore
