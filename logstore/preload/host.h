// What libiotune.so gives this library, and the guard that every entry stands under.
#pragma once

#include <cerrno>

#include "logstore/preload/library_interface.h"

namespace iotune::logstore {

// Filled once by life_in_process.cpp, before any call comes here.
extern const LogStoreHost* g_host;

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

}  // namespace iotune::logstore
