// Files that are opened, read whole and closed: a chunk of a zarr directory, a sample a file. There
// is no next read in such a file; the next file is what can be foreseen. Each directory's files
// are kept in the order in which this process read them, and followed as streams follow a plan:
// its own past, or what an earlier run or another process has left (docs/prefetch.md, "Files").
#pragma once

#include <cstdint>

#include "prefetch/files/file_names.h"
#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// Once: from then on the other functions do something.
void set_up_files(const PrefetchHost& host) noexcept;

// The descriptor's first read was made, and `waited` or did not.
struct FileBegun {
  bool ahead = false;       // the file was read ahead
  bool wants = false;       // others are to be, now
  std::uint32_t bytes = 0;  // of it that were asked for ahead
};
FileBegun file_begins(int fd, bool waited) noexcept;

// The descriptor is about to be closed; so many bytes of its file were read through it.
void file_ends(int fd, std::uint64_t bytes_read) noexcept;

// Writes down the orders that nobody predicted. At the end, maybe several times.
void keep_file_orders() noexcept;

void leave_files_by_jump() noexcept;

// What a thread of ours reads ahead: the next file, NUL-terminated.
inline constexpr std::size_t kMostRootBytes = 1024;
struct FileAhead {
  unsigned directory;
  std::uint64_t hash;
  char path[kMostRootBytes + kMostNameBytes + 1];
};
bool next_file(FileAhead& file) noexcept;
// It turned out to have so many bytes to be read ahead.
void set_file_bytes(const FileAhead& file, std::uint32_t bytes) noexcept;

// Files that have more are no samples, and are streams of their own.
inline constexpr std::uint64_t kMostFileBytes = 8 << 20;

}  // namespace iotune::prefetch
