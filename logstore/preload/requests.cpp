// aio(7), by which MPI libraries begin non-blocking transfers. libc's threads would make them on
// the descriptor itself, which is the handle's: so they are made at once, and are ended when the
// call returns.
#include <aio.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "logstore/preload/guarded.h"
#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"
#include "logstore/preload/real_calls.h"
#include "logstore/preload/transfers.h"

namespace iotune::logstore {
namespace {

bool is_ours(const aiocb* request) noexcept {
  return request != nullptr && is_logged(request->aio_fildes);
}

// `move(file)`. What a thread would have to be informed of is refused: nobody would know when.
template <typename Move>
int make_request(aiocb& request, Move move) noexcept {
  const sigevent& event = request.aio_sigevent;
  if (event.sigev_notify != SIGEV_NONE && event.sigev_notify != SIGEV_SIGNAL) {
    return answer(-ENOSYS);
  }
  const Inside inside;
  if (inside.nested()) return answer(-EAGAIN);
  const Held file(request.aio_fildes);
  if (!file) return answer(-EBADF);
  const std::int64_t result = move(*file);
  // What aio_error() and aio_return() give.
  request.__return_value = result < 0 ? -1 : static_cast<ssize_t>(result);
  request.__error_code = result < 0 ? static_cast<int>(-result) : 0;
  if (event.sigev_notify == SIGEV_SIGNAL && event.sigev_signo != 0) {
    sigqueue(getpid(), event.sigev_signo, event.sigev_value);
  }
  return 0;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): aio_buf is declared volatile
void* memory_of(const aiocb& request) noexcept {
  return const_cast<void*>(request.aio_buf);
}

int own_aio_read(void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_ours(request)) return real.aio_read(memory);
  return make_request(*request, [&](OpenDescription& file) {
    return read_file(file, request->aio_offset, memory_of(*request), request->aio_nbytes);
  });
}
int own_aio_write(void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_ours(request)) return real.aio_write(memory);
  return make_request(*request, [&](OpenDescription& file) {
    return write_file(file, request->aio_offset, memory_of(*request), request->aio_nbytes);
  });
}
int own_aio_fsync(int operation, void* memory) noexcept {
  auto* const request = static_cast<aiocb*>(memory);
  if (!is_ours(request)) return real.aio_fsync(operation, memory);
  return make_request(*request,
                      [](OpenDescription& file) { return std::int64_t{file.file->sync()}; });
}

}  // namespace

Replacements replaced_requests() noexcept {
  static const Replacement kList[] = {
      replacement("aio_read", real.aio_read, own_aio_read),
      replacement("aio_read64", real.aio_read, own_aio_read),
      replacement("aio_write", real.aio_write, own_aio_write),
      replacement("aio_write64", real.aio_write, own_aio_write),
      replacement("aio_fsync", real.aio_fsync, own_aio_fsync),
      replacement("aio_fsync64", real.aio_fsync, own_aio_fsync),
  };
  return kList;
}

}  // namespace iotune::logstore
