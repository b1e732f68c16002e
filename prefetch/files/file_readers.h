// The threads that read files ahead (watched_files.h). Each has a table of descriptors of its own
// (close_range with CLOSE_RANGE_UNSHARE, Linux 5.9): closing one of them drops none of the
// program's fcntl locks on the same file, which belong to the program's table, and the program
// neither sees them nor can close them. Where that cannot be had, no file is read ahead.
// None starts under a filter of system calls, nor while a file of the program's would be flushed.
#pragma once

#include "prefetch/preload/library_interface.h"
#include "prefetch/preload/schedules.h"

namespace iotune::prefetch {

void set_up_file_readers(const PrefetchHost& host, const Schedule& schedule) noexcept;

// There may be files to read ahead. By a thread of the program.
void ask_file_readers() noexcept;

}  // namespace iotune::prefetch
