// What stands in the program's struct aiocb: read in a source of its own, because glibc's header
// declares the calls that we define.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iotune::recorder {

struct AioRequest {
  int fd, operation;  // operation: LIO_READ, LIO_WRITE or LIO_NOP
  std::int64_t offset;
  std::size_t bytes;
};
inline constexpr int kAioRead = 0, kAioWrite = 1;

AioRequest read_aio_request(const void* request) noexcept;

}  // namespace iotune::recorder
