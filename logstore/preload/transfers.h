// Moves of data on logged descriptors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "logstore/preload/logged_descriptors.h"

namespace iotune::logstore {

// As pread(2) and pwrite(2), but -errno.
std::int64_t read_file(OpenDescription& file, std::int64_t offset, void* to,
                       std::size_t size) noexcept;
std::int64_t write_file(OpenDescription& file, std::int64_t offset, const void* from,
                        std::size_t size) noexcept;

}  // namespace iotune::logstore
