// General compressors on the delta-coded list of all accesses: what recognition has to beat.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/generators/workload.h"

namespace iotune::bench {

// Stream after stream: rank, count, then the differences of offset and length to the access before
// as svarints. (As 64-bit columns it was larger after compression on all rows but two of a hundred
// bytes.)
std::vector<std::byte> delta_list(const generators::Workload& of);

struct CompressedBytes {
  std::size_t zlib_9 = 0;
  std::size_t zstd_19 = 0;
};
// Each decompressed again and compared; throws std::runtime_error where that fails.
CompressedBytes compressed_bytes(const generators::Workload& of);

}  // namespace iotune::bench
