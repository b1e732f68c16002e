// Programs that a bare preload leaves alone, where a site has it loaded for everybody: a day's work
// in a shell would bury the runs that its user looks for.
#pragma once

namespace iotune {

// How a process was started, as far as a list of programs asks.
struct StartedProgram {
  const char* path;  // as it was executed: a script's own, where #! names its interpreter
  const char* const* arguments;  // ends with nullptr; nullptr: not known
};

// Whether a list, of globs separated by ':', has the program. A glob without a slash is its base
// name, or that of the script or module that Python was given; one with a slash its absolute path
// or a folder above it, with links resolved or not. nullptr is an empty list.
bool is_listed_program(const char* globs, const StartedProgram& program) noexcept;

// Whether it is one of the shells, tools and compilers that are left out by default: by their names
// alone, and not where MPI, HDF5 or netCDF is loaded already, for a user's own program may have
// such a name.
bool is_everyday_program(const StartedProgram& program) noexcept;

// Whether a library is loaded whose file name begins with one of MPI's, HDF5's or netCDF's.
bool io_library_is_loaded() noexcept;
// netCDF's alone: its classic files need no other library.
bool netcdf_is_loaded() noexcept;

}  // namespace iotune
