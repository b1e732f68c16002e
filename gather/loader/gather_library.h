// libiotune-gather.so, loaded by the processes that IOTUNE_GATHER is set for.
#pragma once

namespace iotune::gather {

// Loads it and puts it in front of MPI's functions on files. By the constructor, once.
// `name_of_io`: which MPI-IO of Open MPI's opens a file, "OMPIO" or another; nullptr where the MPI
// has but one. What fails is one line, and nothing is gathered.
void install_gather(const char* (*name_of_io)(const char* path)) noexcept;

}  // namespace iotune::gather
