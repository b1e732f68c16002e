// The frame of calls that the log store answers, or leaves to libc.
#pragma once

#include <cerrno>
#include <optional>

#include "logstore/preload/host.h"
#include "logstore/preload/logged_descriptors.h"

namespace iotune::logstore {

// `own` gives 0 or more, or -errno, where it answers; else `call` is made, as the program made it.
template <typename Own, typename Call>
auto guarded(Own own, Call call) noexcept -> decltype(call()) {
  const Inside inside;
  if (inside.nested() || g_host->in_vfork_child()) return call();
  const int kept = errno;
  decltype(own()) result;
  try {
    result = own();
  } catch (...) {
    result = -ENOMEM;
  }
  errno = kept;
  return result ? answer(*result) : call();
}

// The same of a call on a descriptor: `own(file)` where that is logged.
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
