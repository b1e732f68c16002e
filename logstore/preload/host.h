// What libiotune.so gives this library, and the guard that every entry stands under.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include "logstore/preload/library_interface.h"
#include "logstore/store/logged_file.h"

namespace iotune::logstore {

// Filled once by life_in_process.cpp, before any call comes here.
extern const LogStoreHost* g_host;

// How this process keeps its logged files.
const StoreOptions& store_options() noexcept;

// How deep this thread is in this library's own code.
extern __thread int t_inside __attribute__((tls_model("initial-exec")));

// While one exists this thread's calls are not recorded, and those that come back here go straight
// to libc. Where `nested()` the call is such a one.
class Inside {
 public:
  Inside() noexcept : nested_(t_inside != 0) {
    if (nested_) return;
    t_inside = 1;
    g_host->own_code(true);
  }
  ~Inside() {
    if (nested_) return;
    g_host->own_code(false);
    t_inside = 0;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  bool nested() const noexcept { return nested_; }

 private:
  bool nested_;
};

// libc's way to answer: -errno becomes errno and -1.
template <typename Number>
Number answer(Number result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// The other way round, of a call of libc.
template <typename Number>
Number result_of(Number result) noexcept {
  return result >= 0 ? result : static_cast<Number>(-errno);
}

// Of a call by name: `own` gives 0 or more, or -errno, where it answers; else `call` is made, as
// the MPI library made it. Anybody else's goes straight through.
template <typename Own, typename Call>
[[gnu::always_inline]] inline auto by_name(Own own, Call call) noexcept -> decltype(call()) {
  if (!g_host->mpi_call().is_running) [[likely]] {
    return call();
  }
  const Inside inside;
  if (inside.nested()) return call();
  const int kept = errno;
  std::optional<int> result;
  try {
    result = own();
  } catch (...) {
    result = -ENOMEM;
  }
  errno = kept;
  return result ? answer(*result) : call();
}

}  // namespace iotune::logstore
