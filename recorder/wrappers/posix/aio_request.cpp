#include "recorder/wrappers/posix/aio_request.h"

#include <aio.h>

namespace iotune::recorder {

static_assert(LIO_READ == kAioRead && LIO_WRITE == kAioWrite);
static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64) && sizeof(off_t) == 8);

AioRequest read_aio_request(const void* request) noexcept {
  const auto* const from = static_cast<const struct aiocb*>(request);
  return {from->aio_fildes, from->aio_lio_opcode, from->aio_offset, from->aio_nbytes};
}

}  // namespace iotune::recorder
