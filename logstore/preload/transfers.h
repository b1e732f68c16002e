// Moves of data on logged descriptors, for calls and streams.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "logstore/preload/logged_descriptors.h"

namespace iotune::logstore {

// As pread(2) and pwrite(2), but -errno. `syncs`: the write is on the storage when it returns.
std::int64_t read_file(OpenDescription& file, std::int64_t offset, void* to,
                       std::size_t size) noexcept;
std::int64_t write_file(OpenDescription& file, std::int64_t offset, const void* from,
                        std::size_t size, bool syncs = false) noexcept;
// At the descriptor's position, which they move. As read(2) and write(2), but -errno.
std::int64_t read_at_position(int fd, OpenDescription& file, void* to, std::size_t size) noexcept;
std::int64_t write_at_position(int fd, OpenDescription& file, const void* from,
                               std::size_t size) noexcept;
// As lseek(2), but -errno.
std::int64_t seek(int fd, OpenDescription& file, std::int64_t offset, int whence) noexcept;

}  // namespace iotune::logstore
