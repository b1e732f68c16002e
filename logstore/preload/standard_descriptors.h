// Descriptors that are read and written past the log store: those of stdin, stdout and stderr, over
// which libc and libstdc++ have streams from the start, and by programs that no preload reaches.
#pragma once

#include "logstore/preload/logged_descriptors.h"
#include "logstore/store/past_writes.h"

namespace iotune::logstore {

// What is to stand at descriptor 0 for a logged file that is only read: a copy of the file as it is
// now, at the same position, that anybody can read. A descriptor, or -errno.
int copy_for_stdin(int fd, OpenDescription& file) noexcept;

// The descriptor becomes 1 or 2. What is written past the log store goes to the position, so that
// an appending one has to be at the end.
void prepare_for_output(int fd, OpenDescription& file) noexcept;

}  // namespace iotune::logstore
