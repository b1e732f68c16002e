// What all wrappers share.
#pragma once

#include <cerrno>
#include <cstdint>

#include "core/abi/hdf5_api.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/decisions.h"

#define IOTUNE_EXPORT __attribute__((visibility("default")))

namespace iotune::recorder {

// Handed from a call's before hook to its extras and after hooks.
struct HookState {
  std::int64_t object;
  // An asynchronous call is still under way: its objects must not be queried.
  bool pending;
  OpenState open;
};

// The program called a function that no loaded library but ours defines.
[[gnu::cold]] void say_missing(const char* name) noexcept;

// For a call with a large count, such as MPI_File_read_c, the call that an MPI older than 4 has
// instead, such as MPI_File_read. A program with a weak reference to the large call finds our
// wrapper and takes it for the MPI's own, so the wrapper has to work under such an MPI too.
// `symbols`: of the names that begin with MPI_ and with PMPI_.
[[gnu::cold]] RealFunction find_small_form(CallerSymbol (&symbols)[2], const char* name,
                                           const void* caller) noexcept;

// MPI_ERR_COUNT in all MPIs: such an MPI transfers no more at once than an int can count.
inline constexpr int kCountTooLarge = 2;

// The result of a call that the system's libc is too old to have.
inline int no_such_call() noexcept {
  errno = ENOSYS;
  return -1;
}

// HDF5 calls on a file that is sampled out go straight to the real function and touch as little
// memory as possible: between two large transfers the caches are cold. That file is the only one
// that is open, so it does not matter which object a call names.
[[gnu::always_inline]] inline bool is_outside_sample() noexcept {
  return t_thread.unrecorded >= ThreadState::Unrecorded::kAll;
}

// The same of a call that changes what a dataspace selects, and where nothing is recorded at all.
[[gnu::always_inline]] inline bool is_selection_passed() noexcept {
  return g_recording < kRecorded || is_outside_sample();
}

// The same for a call on a dataspace or a property list, which is not recorded where only a sample
// of the files is.
[[gnu::always_inline]] inline bool is_unlearnt_call_passed() noexcept {
  return g_records_to_learn || is_outside_sample();
}

// While one exists the calls that HDF5 makes itself go straight through their wrappers.
class PassedCall {
 public:
  [[gnu::always_inline]] PassedCall() noexcept : outer_(t_thread.layers) {
    IOTUNE_NOTICES_UNWINDING();
    t_thread.layers = outer_ | kPassedBits;
  }
  [[gnu::always_inline]] ~PassedCall() { t_thread.layers = outer_; }
  PassedCall(const PassedCall&) = delete;
  PassedCall& operator=(const PassedCall&) = delete;

 private:
  const std::uint8_t outer_;
};

inline bool goes_straight_through(const CallScope& scope, const RealFunction& found) noexcept {
  return !scope.active() || found.provider == nullptr ||
         (found.internal && t_thread.callback_depth != 0);
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
