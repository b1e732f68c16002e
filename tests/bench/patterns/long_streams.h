// Streams too long to be kept as lists: made and checked piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace iotune::bench {

struct LongStream {
  std::uint64_t accesses;
  double cpu_seconds;  // of adding and finishing, without making the accesses
  std::size_t bytes;
};

// One stream; "strided": one stride, "nested": rows of 64 in planes of 64. Throws
// std::runtime_error where it does not come back as it was.
LongStream one_long_stream(const std::string& shape, std::uint64_t accesses);

// What is needed to open the logs of FS-TEST, 512 ranks in a drawn order: each rank's accesses with
// their places in its log, and the log's name as the papers' file system makes them (time in
// microseconds, host, process id).
LongStream logs_of_fs_test(std::uint32_t ranks, std::uint64_t writes, std::uint64_t seed);

}  // namespace iotune::bench
