// Who this process is, and what its relative paths mean.
#pragma once

#include "core/os/short_text.h"

namespace iotune {

// The node's name, cut at the first dot; letters, digits and '-' only.
const char* host_name() noexcept;

// The executable's absolute path, "" if unknown.
const char* program_path() noexcept;

// `path` made absolute by the working directory (not resolved).
void absolute_path(const char* path, ShortText<4096>& to) noexcept;

// The same of a name given to MPI-IO, or to HDF5 above it, which may begin with a file system's:
// "ufs:out.h5" is out.h5 to the file system.
void absolute_path_of_mpi(const char* name, ShortText<4096>& to) noexcept;
// Whether it depends on the working directory which file that name means.
bool is_relative_to_mpi(const char* name) noexcept;

}  // namespace iotune
