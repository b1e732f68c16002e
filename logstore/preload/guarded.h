// The frame of calls on descriptors that the log store answers, or leaves to libc.
#pragma once

#include <cerrno>
#include <cstdint>

#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"

namespace iotune::logstore {

// `own(file)` gives 0 or more, or -errno, where the descriptor is logged; else `call` is made.
template <typename Own, typename Call>
[[gnu::always_inline]] inline auto on_logged(int fd, Own own, Call call) noexcept
    -> decltype(call()) {
  if (!is_logged(fd)) [[likely]] {
    return call();
  }
  const Inside inside;
  // A signal handler that interrupted this library: what it would find is half changed.
  if (inside.nested()) return answer(-EDEADLK);
  const Held file(fd);
  if (!file) return call();
  const int kept = errno;
  const std::int64_t result = own(*file);
  errno = kept;
  return static_cast<decltype(call())>(answer(result));
}

}  // namespace iotune::logstore
