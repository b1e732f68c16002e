// Which writes are small enough to wait.
#pragma once

#include <cstdint>

namespace iotune::gather {

// Of a write of several pieces, whose way to the file is long: larger pieces gain nothing.
inline constexpr std::int64_t kLargestPieceBytes = 64 << 10U;

// Of a write in one piece. On a local file system one of some KiB costs little more than the way of
// its bytes through memory; on others it is a message to a server. `name`: of the file, as MPI or
// HDF5 has opened it.
std::int64_t largest_lone_piece_bytes(const char* name) noexcept;

}  // namespace iotune::gather
