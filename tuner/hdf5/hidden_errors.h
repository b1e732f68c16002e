// Errors of a call that fails because of our settings are ours: the program's handlers are not
// called for it.
#pragma once

#include "core/abi/hdf5_api.h"
#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"

namespace iotune::tuner {

// The handler of this thread's HDF5 error stack, beyond the end of one function (else:
// QuietProbes).
struct HiddenErrors {
  void *function, *argument;
  bool hidden, old_form;
};
void hide_errors(const Hdf5Api& api, HiddenErrors& errors) noexcept;
// Nothing where they are not hidden.
void show_errors(const Hdf5Api& api, HiddenErrors& errors) noexcept;
// As HDF5 does at the end of a call that failed.
void call_handler(const HiddenErrors& errors) noexcept;

// What HDF5 said of the call that has just failed: the text of the innermost frame that has one,
// cut to `bytes` with its NUL. Empty where it said nothing.
void copy_last_words(const Hdf5Api& api, char* to, std::size_t bytes) noexcept;

// MPI's handler of files that are not open, which a failing MPI_File_open calls. Of the process,
// not of the thread; by default it returns, and then nothing is changed.
struct HiddenFileErrors {
  Word handler;
  bool hidden;
};
void hide_file_errors(const MpiApi& mpi, HiddenFileErrors& errors) noexcept;
void show_file_errors(const MpiApi& mpi, HiddenFileErrors& errors) noexcept;

}  // namespace iotune::tuner
