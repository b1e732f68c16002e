// What every wrapper is made of.
#pragma once

#include <cerrno>
#include <cstdint>

#include "core/abi/hdf5_api.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/open_hooks.h"

#define IOTUNE_EXPORT __attribute__((visibility("default")))

namespace iotune::recorder {

// Handed from a call's before hook to its extras and after hooks.
struct HookState {
  std::int64_t object;
  // An asynchronous call is still under way: what it was about must not be asked.
  bool pending;
  OpenState open;
};

// The program called a function that no loaded library but ours defines.
[[gnu::cold]] void say_missing(const char* name) noexcept;

// What an MPI older than 4 has instead of a call with a large count, MPI_File_read for
// MPI_File_read_c. A program with a weak reference to such a call sees our wrapper and takes it for
// the MPI's own, so that the wrapper has to work under an MPI without it, too. `symbols`: of the
// names that begin with MPI_ and with PMPI_.
[[gnu::cold]] RealFunction find_small_form(CallerSymbol (&symbols)[2], const char* name,
                                           const void* caller) noexcept;

// MPI_ERR_COUNT of all MPIs: what no int can hold is beyond what such an MPI transfers at once.
inline constexpr int kCountTooLarge = 2;

// What a call that the system's libc is too old for does.
inline int no_such_call() noexcept {
  errno = ENOSYS;
  return -1;
}

// What a call does that a slice of the program that runs ahead may not make.
inline int not_in_slice() noexcept {
  errno = ENOTSUP;
  return -1;
}

// Calls of HDF5 on a file that is sampled out go straight to the real function, and touch as little
// memory as may be: between two large transfers the caches are cold. The program's only file, so
// that it does not matter what a call is about.
[[gnu::always_inline]] inline bool is_outside_sample() noexcept {
  return t_thread.unrecorded >= ThreadState::Unrecorded::kAll;
}

// The same of a call on a dataspace or a property list, which nobody has to be told of where a
// sample is recorded.
[[gnu::always_inline]] inline bool is_unlearnt_call_passed() noexcept {
  return g_records_to_learn || is_outside_sample();
}

// While one exists nothing of what HDF5 calls in turn is looked at.
class PassedCall {
 public:
  [[gnu::always_inline]] PassedCall() noexcept : outer_(t_thread.layers) {
    t_thread.layers = outer_ | kPassedBits;
  }
  [[gnu::always_inline]] ~PassedCall() { t_thread.layers = outer_; }
  PassedCall(const PassedCall&) = delete;
  PassedCall& operator=(const PassedCall&) = delete;

 private:
  const std::uint8_t outer_;
};

inline bool goes_straight_through(const CallScope& scope, const RealFunction& found) noexcept {
  return !scope.active() || found.provider == nullptr || (found.internal && t_thread.aside != 0);
}

inline std::int64_t space_dimensions(Provider& provider, Hid space) noexcept {
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr) return -1;
  const OwnCode own;
  return api->H5Sget_simple_extent_ndims(space);
}

inline std::int64_t dataset_dimensions(Provider& provider, Hid dataset) noexcept {
  const Hdf5Api* const api = hdf5_api(provider);
  if (api == nullptr) return -1;
  const OwnCode own;
  const Hid space = api->H5Dget_space(dataset);
  if (space < 0) return -1;
  const int n = api->H5Sget_simple_extent_ndims(space);
  api->H5Sclose(space);
  return n;
}

}  // namespace iotune::recorder
